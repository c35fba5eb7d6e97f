import type { z } from 'zod'
import { newId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { insertMailbox, lockName, toMailboxDetail } from '../mailboxes/index.ts'
import { ListDetail, NewList, subdomainOf, toListDetail } from './list.ts'
import { findList, insertList, type ListKey, takenSubdomains } from './list-queries.ts'

export const createList = defineOperation({
  id: 'lists.create',
  method: 'POST',
  path: '/lists',
  scope: 'write',
  summary: 'Create a newsletter, a waitlist or an announcement list',
  description:
    'The list gets a unique subdomain made from its name, and a mailbox of that name. Opens and clicks are not tracked until switched on.',
  body: NewList,
  result: ListDetail,
  status: 201,
  errors: [],

  async run(context, { body }) {
    const { database, caller } = context
    return database.transaction(async (tx) => {
      const key = { project_id: caller.project_id, list_id: newId<'lst'>() }
      const mailbox = await insertUnderFreeName(context, tx, key, body)
      const list = toListDetail((await findList(tx, key))!, tx.now) // inserted above, in this transaction
      await publish(tx, caller.project_id, 'mailbox.created', { mailbox_id: mailbox.id, mailbox })
      await publish(tx, caller.project_id, 'list.created', { list_id: list.id, list })
      return list
    })
  },
})

/** Takes `name`, `name-2`, …: the first that is free. Those who want the same name at the same moment take turns. */
async function insertUnderFreeName({ config }: Context, tx: Transaction, key: ListKey, body: z.output<typeof NewList>) {
  const base = subdomainOf(body.name)
  await lockName(tx, base)
  const taken = new Set(
    (await takenSubdomains(tx, { base, mailDomain: config.MAIL_DOMAIN, project_id: key.project_id })).map((row) => row.subdomain),
  )
  let subdomain = base
  for (let number = 2; taken.has(subdomain); number++) subdomain = `${base}-${number}`
  const mailbox = await insertMailbox(tx, { ...key, address: `${subdomain}@${config.MAIL_DOMAIN}`, name: body.name })
  await insertList(tx, { ...key, ...body, description: body.description ?? null, subdomain, mailbox_id: mailbox.id })
  return toMailboxDetail(mailbox)
}
