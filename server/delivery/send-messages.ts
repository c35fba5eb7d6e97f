import type { Clock } from '../base/clock.ts'
import { formatId, type ListId, type MessageId, type ProjectId } from '../base/ids.ts'
import { InTouch } from '../base/in-touch.ts'
import { keepRenewed } from '../base/keep-renewed.ts'
import { LastingWrites, writeOnStopMs } from '../base/lasting-writes.ts'
import type { Log } from '../base/log.ts'
import { type Loop, startLoop } from '../base/loop.ts'
import type { Secrets } from '../base/secrets.ts'
import { rarely } from '../base/trouble.ts'
import { wake } from '../base/wake.ts'
import type { Database, Queryable } from '../database/database.ts'
import { nothing, sql } from '../database/sql.ts'
import type { OutgoingMail } from '../mail/compose.ts'
import { type DomainGate, domainOf } from './broadcast/domain-gate.ts'
import { patienceOf } from './domain-limits.ts'
import { MessageRooms, type Welcome } from './message-rooms.ts'
import { outcomeOfOwnError } from './put-together.ts'
import { nextAttempt } from './retry-times.ts'
import { returnPathOf, sendNow } from './send-now.ts'
import { type Signers, UnverifiedDomain } from './signing-keys.ts'
import { heldBack, isSwitchedOff } from './switched-off.ts'
import { bounceClassOf, type Outcome, type Transport } from './transports/index.ts'
import { countSingleMail } from './warm-up.ts'

/**
 * Single messages: queued → sending (leased) → delivered | bounced | failed, or back to queued after a temporary no.
 * Claim and commit; talk to the network; settle and commit. A process that dies in between leaves a lease that runs out, and the
 * message goes out again under the same Message-ID. One that lives settles what it knows, whenever the database is back.
 */
interface Claimed {
  project_id: ProjectId
  id: MessageId
  list_id: ListId | null
  is_secret: boolean
  domain: string
  mail: Omit<OutgoingMail, 'message_id' | 'date'>
  attempts: number
  created_at: Date
  /** Nobody is to have it for now. */
  is_held: boolean
}

export interface MessageSender {
  database: Database
  clock: Clock
  log: Log
  transport: Transport
  signers: Signers
  secrets: Secrets
  gate: DomainGate
  mailDomain: string
  /** Whoever has not renewed a claim for so long is dead. */
  leaseMs: number
}

export function startMessageSender(sender: MessageSender): Loop {
  const underWay = new Map<MessageId, Promise<void>>()
  const rooms = new MessageRooms(sender.transport)
  const writes = new LastingWrites()
  const inTouch = new InTouch(sender.leaseMs)
  const begin = (message: Claimed) => {
    rooms.enter(message)
    const sending = sendOne(sender, message, writes)
      .catch((error: Error) => rarely(sender.log, 'a message is sent when its lease ends').met(error, { message_id: message.id }))
      .finally(() => {
        underWay.delete(message.id)
        if (rooms.leave(message)) wake('messages')
      })
    underWay.set(message.id, sending)
  }
  const loop = startLoop({
    name: 'message sender',
    log: sender.log,
    on: 'messages',
    everyMs: 1_000,
    step: async () => {
      const welcome = rooms.welcome()
      if (!welcome) return false
      const claimed = await inTouch.ask(() => claim(sender, welcome, { except: [...underWay.keys()], takesOver: inTouch.mayTakeOver }))
      for (const message of claimed) begin(message)
      return claimed.length === welcome.most
    },
  })
  return {
    async stop() {
      await loop.stop()
      writes.endWithin(writeOnStopMs)
      await Promise.all(underWay.values())
    },
  }
}

const batch = 10

/** One batch, to its end. True when there may be more. */
export async function sendDueMessages(sender: MessageSender): Promise<boolean> {
  const claimed = await claim(sender, { isWelcome: sql`true`, most: batch }, { except: [], takesOver: true })
  await Promise.all(claimed.map((message) => sendOne(sender, message, new LastingWrites())))
  return claimed.length === batch
}

/**
 * Leases begin and end by the database's clock, which all senders share: clocks of machines differ, and jump. When a queued message is due
 * is a matter of the sender's own clock, or of the database's if that one is ahead.
 */
const leaseEnd = ({ leaseMs }: MessageSender) => sql`now() + ${leaseMs}::integer * interval '1 millisecond'`
const isDue = ({ clock }: MessageSender, takesOver: boolean) =>
  sql`next_attempt_at <= greatest(now(), ${clock.now()}::timestamptz) and (status = 'queued' ${takesOver ? sql`or next_attempt_at <= now()` : nothing})`

interface Claiming {
  /** What is under way here: it is not abandoned, however long the database was away. */
  except: MessageId[]
  /** Also what somebody claimed whose lease has run out. */
  takesOver: boolean
}

/** A claimed message is due again when its lease runs out: queued and abandoned ones are found alike. */
const claim = (sender: MessageSender, { isWelcome, most }: Welcome, { except, takesOver }: Claiming) => sender.database.many<Claimed>`
  update messages m set status = 'sending', attempts = m.attempts + 1, next_attempt_at = ${leaseEnd(sender)}
  from (
    select project_id, id from messages
    where status in ('queued', 'sending') and ${isDue(sender, takesOver)} and ${isWelcome}
      ${except.length > 0 ? sql`and id <> all(${except}::uuid[])` : nothing}
    order by next_attempt_at limit ${most} for update skip locked
  ) due
  where m.project_id = due.project_id and m.id = due.id
  returning m.project_id, m.id, m.list_id, m.is_secret, split_part(m.recipient_key, '@', -1) as domain, m.mail, m.attempts, m.created_at,
    ${isSwitchedOff(sql`m.project_id`)} as is_held`

/**
 * The steps of one message may together take longer than a lease lasts (RFC 5321 section 4.5.3.2 allows a server half an hour). While
 * this process lives nobody else takes it.
 */
function keepLease(sender: MessageSender, { project_id, id, attempts }: Claimed): () => void {
  const renew = () =>
    sender.database.run`
      update messages set next_attempt_at = ${leaseEnd(sender)}
      where project_id = ${project_id} and id = ${id} and status = 'sending' and attempts = ${attempts}`
  return keepRenewed(renew, {
    everyMs: sender.leaseMs / 4,
    onFailure: (error) => rarely(sender.log, 'the lease of a message could not be renewed').met(error, { message_id: id }),
  })
}

async function sendOne(sender: MessageSender, message: Claimed, writes: LastingWrites): Promise<void> {
  const { gate, clock, log } = sender
  if (message.is_held) return settle(sender, message, heldBack)
  const domain = domainOf(message.mail.to)
  // Somebody waits for a single mail, so nothing holds it; what it takes of its domain's room, posts do without.
  gate.spend(domain, clock.now().getTime())
  const letGo = keepLease(sender, message)
  try {
    const outcome = await attempt(sender, message)
    gate.hear(domain, patienceOf(outcome), clock.now().getTime())
    tellOf(sender, message, outcome)
    await writes.write(() => settle(sender, message, outcome), { log, about: { message_id: message.id, outcome: outcome.kind } })
    if (outcome.kind === 'delivered') await countForWarmUp(sender, message)
  } finally {
    letGo()
  }
}

/** Once, whether it works or not: a domain that warms up may count one too few, and nothing is sent again for that. */
const countForWarmUp = ({ database, clock, log }: MessageSender, { project_id, id, mail }: Claimed): Promise<void> =>
  countSingleMail(database, { project_id, from: mail.from.address, now: clock.now() }).catch((error: Error) =>
    log.warn({ message_id: id, reason: error.message }, 'a message that left is not counted for the warm-up of its domain'),
  )

/** That a relay is gone is told by who watches it (`transports/watched.ts`), once for all messages. */
function tellOf({ log, transport }: MessageSender, { id }: Claimed, outcome: Outcome): void {
  if (outcome.kind === 'delivered') return
  const about = { message_id: id, transport: transport.name, reason: outcome.reason }
  if (outcome.kind === 'bounced') log.warn(about, 'a message was refused for good')
  else if (outcome.kind === 'failed') log.error({ ...about, detail: outcome.detail }, 'a message could not be put together')
  else log.info(about, 'a message is put off')
}

async function attempt(sender: MessageSender, message: Claimed): Promise<Outcome> {
  const { project_id, id, created_at } = message
  const mail = message.mail.return_host === undefined ? message.mail : await inWhoseName(sender, message)
  if (!mail) return outcomeOfOwnError(new UnverifiedDomain(domainOf(message.mail.from.address)))
  const returnPath = returnPathOf({ ...sender, returnHost: mail.return_host }, { kind: 'message', project_id, id })
  const complete = { ...mail, message_id: `${formatId('msg', id)}@${sender.mailDomain}`, date: created_at }
  return sendNow(sender, complete, { project_id, returnPath })
}

/**
 * It may have waited for days in the name of a domain that the project has lost meanwhile. A list's mail then leaves from the list's own
 * mailbox, as it would had it been queued now; of anybody else's it is not known who else could send it (null), and it waits.
 */
async function inWhoseName({ database }: MessageSender, { project_id, list_id, mail }: Claimed): Promise<Claimed['mail'] | null> {
  const now = await database.first<{ is_verified: boolean; mailbox_address: string | null }>`
    select exists (
        select 1 from sender_domains
        where project_id = ${project_id} and domain = ${domainOf(mail.from.address)} and status = 'verified') as is_verified,
      (select m.address from lists l join mailboxes m on m.project_id = l.project_id and m.id = l.mailbox_id
        where l.project_id = ${project_id} and l.id = ${list_id} and l.deleted_at is null) as mailbox_address`
  if (now?.is_verified) return mail
  if (!now?.mailbox_address) return null
  const { return_host: _, ...unsigned } = mail
  return { ...unsigned, from: { ...mail.from, address: now.mailbox_address } }
}

/**
 * Whoever lost the lease in the meantime settles nothing: the count of attempts tells the claims apart. Only that another server has taken
 * it is the last word, whoever holds it now. May be repeated.
 */
async function settle({ database, clock }: MessageSender, message: Claimed, outcome: Outcome): Promise<void> {
  const now = clock.now()
  const again = outcome.kind === 'deferred' ? nextAttempt(message.attempts, now) : null
  const status = again ? 'queued' : outcome.kind === 'deferred' ? 'failed' : outcome.kind
  await database.run`
    update messages set status = ${status}, smtp_code = ${outcome.smtp_code}, enhanced_code = ${outcome.kind === 'delivered' ? null : outcome.enhanced_code},
      reason = ${outcome.kind === 'delivered' ? null : outcome.reason}, bounce_class = ${again ? null : bounceClassOf(outcome)}, next_attempt_at = ${again ?? now}, settled_at = ${again ? null : now},
      mail = case when is_secret and ${again === null}::boolean then jsonb_build_object('subject', mail->'subject') else mail end
    where project_id = ${message.project_id} and id = ${message.id}
      and ${outcome.kind === 'delivered' ? sql`status in ('queued', 'sending')` : sql`status = 'sending' and attempts = ${message.attempts}`}`
}

/** Settled messages name people: a month is enough to answer "did it arrive". */
export const pruneMessages = (db: Queryable, now: Date) => db.run`
  delete from messages where (project_id, id) in (
    select project_id, id from messages where settled_at < ${now}::timestamptz - interval '30 days' limit 5000)`
