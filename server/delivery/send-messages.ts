import type { Clock } from '../base/clock.ts'
import { formatId, type MessageId, type ProjectId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { type Loop, startLoop } from '../base/loop.ts'
import type { Database, Queryable } from '../database/database.ts'
import type { OutgoingMail } from '../mail/compose.ts'
import { nextAttempt } from './retry-times.ts'
import { sendNow } from './send-now.ts'
import type { Signers } from './signing-keys.ts'
import type { Outcome, Transport } from './transports/index.ts'

/**
 * Single messages: queued → sending (leased) → delivered | bounced | failed, or back to queued after a temporary no.
 * Claim and commit; talk to the network; settle and commit. A process that dies in between leaves a lease that runs out, and the
 * message goes out again under the same Message-ID.
 */
interface Claimed {
  project_id: ProjectId
  id: MessageId
  mail: Omit<OutgoingMail, 'message_id' | 'date'>
  attempts: number
  created_at: Date
}

export interface MessageSender {
  database: Database
  clock: Clock
  log: Log
  transport: Transport
  signers: Signers
  mailDomain: string
}

/** A batch waits for its slowest, so it is small, and its lease long: a relay may take minutes for each step of each message. */
const batch = 10
const leaseMs = 15 * 60_000

export const startMessageSender = (sender: MessageSender): Loop =>
  startLoop({ name: 'message sender', log: sender.log, on: 'messages', everyMs: 1_000, step: () => sendDueMessages(sender) })

/** One batch. True when there may be more. */
export async function sendDueMessages(sender: MessageSender): Promise<boolean> {
  const claimed = await claim(sender.database, sender.clock.now())
  await Promise.all(claimed.map((message) => sendOne(sender, message)))
  return claimed.length === batch
}

/** A claimed message is due again when its lease runs out: queued and abandoned ones are found alike. */
const claim = (database: Database, now: Date) => database.many<Claimed>`
  update messages m set status = 'sending', attempts = m.attempts + 1, next_attempt_at = ${new Date(now.getTime() + leaseMs)}
  from (
    select project_id, id from messages where status in ('queued', 'sending') and next_attempt_at <= ${now}
    order by next_attempt_at limit ${batch} for update skip locked
  ) due
  where m.project_id = due.project_id and m.id = due.id
  returning m.project_id, m.id, m.mail, m.attempts, m.created_at`

async function sendOne(sender: MessageSender, message: Claimed): Promise<void> {
  const outcome = await attempt(sender, message)
  tellOf(sender, message, outcome)
  await settle(sender, message, outcome)
}

/** Transports that put off the last message they were given. */
const inTrouble = new WeakSet<Transport>()

/** One line when mail stops getting through and one when it does again, not one for each message in between. */
function tellOf({ log, transport }: MessageSender, { id }: Claimed, outcome: Outcome): void {
  if (outcome.kind === 'delivered') {
    if (inTrouble.delete(transport)) log.warn({ transport: transport.name }, 'mail goes out again')
    return
  }
  const about = { message_id: id, transport: transport.name, reason: outcome.reason }
  if (outcome.kind === 'bounced') log.warn(about, 'a message was refused for good')
  else if (inTrouble.has(transport)) log.info(about, 'a message is put off')
  else log.warn(about, 'mail does not go out; it is kept and tried again')
  if (outcome.kind === 'deferred') inTrouble.add(transport)
}

const attempt = ({ transport, signers, mailDomain }: MessageSender, { id, mail, created_at }: Claimed): Promise<Outcome> =>
  sendNow({ transport, signers }, { ...mail, message_id: `${formatId('msg', id)}@${mailDomain}`, date: created_at })

/** Whoever lost the lease in the meantime settles nothing: the count of attempts tells the claims apart. */
async function settle({ database, clock }: MessageSender, message: Claimed, outcome: Outcome): Promise<void> {
  const now = clock.now()
  const again = outcome.kind === 'deferred' ? nextAttempt(message.attempts, now) : null
  const status = again ? 'queued' : outcome.kind === 'deferred' ? 'failed' : outcome.kind
  await database.run`
    update messages set status = ${status}, smtp_code = ${outcome.smtp_code},
      reason = ${outcome.kind === 'delivered' ? null : outcome.reason}, next_attempt_at = ${again ?? now}, settled_at = ${again ? null : now},
      mail = case when is_secret and ${again === null}::boolean then jsonb_build_object('subject', mail->'subject') else mail end
    where project_id = ${message.project_id} and id = ${message.id} and status = 'sending' and attempts = ${message.attempts}`
}

/** Settled messages name people: a month is enough to answer "did it arrive". */
export const pruneMessages = (db: Queryable, now: Date) => db.run`
  delete from messages where (project_id, id) in (
    select project_id, id from messages where settled_at < ${now}::timestamptz - interval '30 days' limit 5000)`
