import { ApiError, invalid } from '../../base/errors.ts'
import type { MailboxId } from '../../base/ids.ts'
import { oneForEach } from '../../base/one-for-each.ts'
import { together } from '../../base/together.ts'
import { type Database, isConnectionLoss, type Queryable } from '../../database/database.ts'
import { returnHostOf } from '../../mail/verp.ts'
import type { Caller, Context } from '../../operations/context.ts'
import { findMailbox, findOwnDomain, isOwnDomain, type MailboxRow } from '../mailboxes/index.ts'
import { stateOf } from '../mailboxes/mailbox.ts'
import type { Draft } from './book-email.ts'
import type { NewEmail } from './email.ts'
import { type Asked, findSenders, type Sender } from './email-batch-queries.ts'

/** Which mailbox the mail goes out from, as far as the credential reaches. */
export async function findSendingMailbox(
  context: Context,
  { from, to }: Pick<NewEmail, 'from' | 'to'>,
): Promise<Pick<Draft, keyof Sender | 'return_host'>> {
  const { caller, clock } = context
  const bound = boundMailboxOf(caller)
  const own = bound ?? caller.agent_mailbox_id
  if (!from && !own) throw invalid('from', 'is required with a project-wide key: name the mailbox that sends')
  const sender = from ? await findByAddress(context, { address_key: from.key, to_key: to.key }) : await findById(context, own!) // one of the two is there, as checked above
  if (bound && from && sender?.mailbox.id !== bound)
    throw new ApiError('forbidden', 'from: this key sends from its own mailbox only. Leave from out, or use a key with the scope "send".')
  if (!sender) throw invalid('from', 'names no mailbox of this project. GET /lists shows each list’s mailbox_address.')
  refuseInactive(sender.mailbox, 'from', clock.now())
  return { ...sender, ...(await wayBackOf(context, sender.mailbox, 'from')) }
}

type WayBack = Pick<Draft, 'return_host'>

/** What bounces come back to, of a mailbox at a domain of the project's own; such a one sends while that is verified. */
export async function wayBackOf(
  context: Pick<Context, 'config' | 'database'>,
  mailbox: Pick<MailboxRow, 'project_id' | 'address'>,
  field: string,
): Promise<WayBack> {
  const way = await findWayBack(context, context.database, mailbox)
  if ('problem' in way) throw invalid(field, `${way.problem}. GET /lists/{listId}/sender tells why`)
  return way
}

/** The same for who asks by mail, with the reason where there is none. */
export async function findWayBack(
  { config }: Pick<Context, 'config'>,
  db: Queryable,
  { project_id, address }: Pick<MailboxRow, 'project_id' | 'address'>,
): Promise<WayBack | { problem: string }> {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  const own = isOwnDomain(config, domain) ? null : await findOwnDomain(db, project_id, domain)
  if (!own) return {}
  if (own.is_verified) return { return_host: returnHostOf(domain) }
  return { problem: `is at ${domain}, which is not verified now: receivers would take the mail for forged` }
}

async function findById({ database, caller }: Context, id: MailboxId): Promise<Pick<Draft, keyof Sender> | null> {
  const mailbox = await findMailbox(database, caller.project_id, id)
  return mailbox && { mailbox, hindrances: null }
}

const findByAddress = ({ database, trail, caller }: Context, asked: Omit<Asked, 'project_id'>): Promise<Sender | null> =>
  findWithOthers(trail?.database ?? database)({ ...asked, project_id: caller.project_id })

/** Requests that come while others are being looked up are looked up together: after a moment in which nothing moved, they are many. */
const findWithOthers = oneForEach((database: Database) =>
  together((asked: Asked[]) => findSenders(database, asked), { most: 100, isOfAll: isConnectionLoss }),
)

/** The only mailbox that a credential sends from, if it is held to one: the key's own, or that of an agent without the scope `send`. */
export const boundMailboxOf = (caller: Caller): MailboxId | null =>
  caller.mailbox_id ?? (caller.scopes.includes('send') ? null : caller.agent_mailbox_id)

/** One that takes no answers sends nothing either. */
export function refuseInactive(mailbox: MailboxRow, field: string, now: Date): void {
  const state = stateOf(mailbox, now)
  if (state !== 'active') throw invalid(field, `is ${state}; only an active mailbox sends`)
}
