import type { z } from 'zod'
import { invalid, notFound } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import { addPendingKeys, domainKeys, makeDomainKeys } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import { isWithin, parseDomain } from '../../mail/domain-name.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findList, type ListKey, type ListRow, lockList, saveSender, toListDetail, UnderListParams } from '../lists/index.ts'
import { tellLists } from './check-domain.ts'
import { giveUpUnused } from './give-up-unused.ts'
import { reachSender } from './reach-sender.ts'
import { resetToDefault } from './reset-sender.ts'
import { NewSender, SenderInfo, toSenderInfo } from './sender.ts'
import { tryAgain } from './sender-domain.ts'
import { checkSoon, countDomains, type DomainKeyParts, holdDomains, insertDomain, lockDomain, saveState } from './sender-queries.ts'

export const setSender = defineOperation({
  id: 'senders.set',
  method: 'PUT',
  path: '/lists/{listId}/sender',
  scope: 'write',
  summary: 'Send from a domain of your own, or from the default address',
  description:
    '`custom_domain` answers the DNS records to add; the domain is verified when the required ones are found. Until then mail goes out from the list’s mailbox, in the chosen name, and answers go to the chosen address; from the next post on after that, it goes out from the chosen address. Lists of one project may share a domain. A domain that another project has verified stays pending. A domain that has failed begins a new try. If a verified domain loses its records for a day it has failed, and posts of its lists wait (422) until the records are back, or until the sender is reset: mail in its name would be taken for forged, and mail from another address would not be known to readers. `external_mailbox` is coming soon.',
  params: UnderListParams,
  body: NewSender,
  result: SenderInfo,
  status: 200,
  errors: ['not_found'],

  async run(context, { params, body }) {
    const { database, caller } = context
    const key = { project_id: caller.project_id, list_id: params.listId }
    if (body.type === 'external_mailbox') throw invalid('type', 'external_mailbox is coming soon; use custom_domain or tinysend')
    if (body.type === 'custom_domain') await setUpDomain(context, key, body)
    else await database.transaction((tx) => resetToDefault(tx, key))
    return toSenderInfo(await reachSender(context, database, key))
  },
})

/** At most so many domains of one project are looked after. */
const mostDomains = 50

async function setUpDomain(context: Context, key: ListKey, body: z.output<typeof NewSender>): Promise<void> {
  const { database, secrets } = context
  const wanted = readSender(context, body)
  const domain = { project_id: key.project_id, domain: wanted.sender_domain }
  // Nobody makes keys for a list that is not there.
  if (!(await findList(database, key))) throw notFound('list')
  const keys = (await domainKeys(database, domain)).length === 0 ? await makeDomainKeys() : []
  await database.transaction(async (tx) => {
    const before = await lockList(tx, key)
    if (!before) throw notFound('list')
    await holdDomains(tx, [domain.domain, ...(before.sender_domain === null ? [] : [before.sender_domain])])
    const isNewTry = await beginTry(tx, domain)
    if ((await domainKeys(tx, domain)).length === 0) await addPendingKeys({ secrets }, tx, { ...domain, keys })
    await saveSender(tx, key, wanted)
    if (before.sender_domain !== null && before.sender_domain !== domain.domain)
      await giveUpUnused(tx, { ...domain, domain: before.sender_domain })
    await tell(tx, key, { before, isNewTry })
  })
}

/** True when a domain that had failed is pending again. */
async function beginTry(tx: Transaction, domain: DomainKeyParts): Promise<boolean> {
  const row = await lockDomain(tx, domain)
  if (!row) {
    if ((await countDomains(tx, domain.project_id)) >= mostDomains)
      throw invalid(
        'domain',
        `is one more than the ${mostDomains} that a project may have. Reset the sender of a list that needs its own no more`,
      )
    await insertDomain(tx, domain)
    return false
  }
  if (row.status !== 'failed') return false
  await saveState(tx, domain, tryAgain(row, tx.now))
  await checkSoon(tx, domain)
  return true
}

/** All lists of a domain change with it; else only this one, if it did. */
async function tell(tx: Transaction, key: ListKey, { before, isNewTry }: { before: ListRow; isNewTry: boolean }): Promise<void> {
  const after = (await findList(tx, key))! // locked above
  if (isNewTry && after.sender_domain !== null) return tellLists(tx, { project_id: key.project_id, domain: after.sender_domain })
  const isSame = (['sender_name', 'sender_local_part', 'sender_domain'] as const).every((field) => before[field] === after[field])
  if (!isSame) await publish(tx, key.project_id, 'list.updated', { list_id: key.list_id, list: toListDetail(after, tx.now) })
}

/** Signs that mail addresses are made of and that every server takes (RFC 5322 section 3.2.3). */
const localForm = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/

function readSender({ config }: Context, { name, email, domain }: z.output<typeof NewSender>) {
  if (name === undefined) throw invalid('name', 'is required: who the mail is from, as readers see it')
  if (email === undefined) throw invalid('email', 'is required: the part before the @')
  if (domain === undefined) throw invalid('domain', 'is required: a domain of yours, like example.com')
  if (email.includes('@')) throw invalid('email', 'must be the part before the @ alone, like “hello”')
  if (!localForm.test(email)) throw invalid('email', 'may have letters a to z, digits, and dots or hyphens between them')
  const parsed = parseDomain(domain)
  if (!parsed.ok) throw invalid('domain', parsed.problem)
  if (isWithin(parsed.domain, config.MAIL_DOMAIN))
    throw invalid('domain', `is this installation’s own. Leave it to type tinysend to send from an address at ${config.MAIL_DOMAIN}`)
  // The return path lies below it: bounce.example.com.
  if (parsed.domain.length > 180) throw invalid('domain', 'is longer than 180 bytes, too long for the names of its records')
  if (email.length + parsed.domain.length + 1 > 254) throw invalid('email', 'makes an address longer than 254 bytes')
  return { sender_name: name, sender_local_part: email, sender_domain: parsed.domain }
}
