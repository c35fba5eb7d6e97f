import { invalid } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { checkConfig } from './forwarding.ts'
import { endOf } from './lifetime.ts'
import { MailboxDetail, NewMailbox, toMailboxDetail } from './mailbox.ts'
import { makeAddress, takeAddress } from './mailbox-address.ts'
import { holdListOf, insertMailbox } from './mailbox-queries.ts'

export const createMailbox = defineOperation({
  id: 'mailboxes.create',
  method: 'POST',
  path: '/mailboxes',
  scope: 'write',
  summary: 'Create a mailbox',
  description:
    'Without an address it gets a readable one, such as swift-otter@…. A disposable mailbox ends after `ttl` or at `expires_at` (24 hours unless said); the other types end only if you say when. A proxy mailbox passes mail on to `config.forward_to`. Addresses may also be at a domain that is verified as the sender of one of the project’s lists. An address that is taken, or was another project’s in the last 90 days and is not at a domain of yours, is 422.',
  body: NewMailbox,
  result: MailboxDetail,
  status: 201,
  errors: [],

  async run(context, { body }) {
    const { database, caller, config: settings } = context
    const { project_id } = caller
    const { type, address: wanted, domain, list_id = null, name = null } = body
    const config = checkConfig(settings, type, body.config ?? null)
    if (wanted && domain !== undefined && !wanted.key.endsWith(`@${domain.toLowerCase()}`))
      throw invalid('domain', 'is for an address that is made for you; leave it out, or leave out address')
    return database.transaction(async (tx) => {
      const expires_at = endOf(body, tx.now)
      if (list_id && !(await holdListOf(tx, { project_id, list_id }))) throw invalid('list_id', 'names no list of this project')
      const address = wanted ? await takeAddress(settings, tx, { project_id, address: wanted }) : await makeAddress(context, tx, domain)
      const row = await insertMailbox(tx, { project_id, address, name, type, list_id, config, expires_at })
      const mailbox = toMailboxDetail(row)
      await publish(tx, project_id, 'mailbox.created', { mailbox_id: mailbox.id, mailbox })
      return mailbox
    })
  },
})
