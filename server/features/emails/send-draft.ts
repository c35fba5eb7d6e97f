import { ApiError, invalid } from '../../base/errors.ts'
import { type EmailId, formatId } from '../../base/ids.ts'
import { type Outcome, returnPathOf, sendNow } from '../../delivery/send-now.ts'
import type { OutgoingMail } from '../../mail/compose.ts'
import type { Context } from '../../operations/context.ts'
import { type HeldKey, takeTurn } from '../../operations/idempotency.ts'
import type { MailboxRow } from '../mailboxes/index.ts'
import { bookOnce, type Draft } from './book-email.ts'
import type { EmailRow } from './email.ts'
import { findEmail, findHindrances, hasOnlyFailed } from './email-queries.ts'
import { keepOpen, writesOf } from './open-sends.ts'
import { asTaken, settleSent, settleSentAgain, settleUnsent } from './settle-email.ts'
import { threadHeaders } from './threading.ts'

interface Request {
  operation: string
  /** What an Idempotency-Key stands for, beside the body. */
  turn: string
  /** What the operation calls the recipient. */
  toField: string
  /** Checks what is asked for; not done again for a repeat. */
  prepare(): Promise<Draft>
}

interface SentEmail {
  email: EmailRow
  isRepeat: boolean
  receipt: string | null
}

/** The way of every mail that is sent while its sender waits: book and commit; talk; settle and commit. */
export async function sendDraft(context: Context, request: Request): Promise<SentEmail> {
  const turn = await takeTurn(context, request.turn)
  if (turn.turn === 'repeat') return { email: await recordOf(context, turn.result_id), isRepeat: true, receipt: turn.receipt }
  const { key } = turn
  const before = await orGiveBack(key, findTaken(context, key))
  if (before) return { email: before, isRepeat: true, receipt: key.receipt }
  const booked = await orGiveBack(key, book(context, request, key))
  return { email: await inTime(context, booked, key), isRepeat: false, receipt: booked.receipt }
}

/** The first request with this key has sent it, and died before it could say so. */
async function findTaken({ database, caller }: Context, key: HeldKey): Promise<EmailRow | null> {
  if (key.begun === null) return null
  const email = await findEmail(database, { project_id: caller.project_id, id: key.begun as EmailId, mailbox_id: null })
  if (!email || email.status === 'sending' || email.status === 'failed') return null
  await key.finish(email.id)
  return email
}

/** When not even giving it back works, the lease runs out; what went wrong first tells more. */
const orGiveBack = <Result>(key: HeldKey, work: Promise<Result>): Promise<Result> =>
  work.catch(async (error: unknown) => {
    await key.giveBack().catch(() => {})
    throw error
  })

/** Shorter than proxies and clients wait for an answer. */
const answerWithinMs = 30_000

/**
 * What is on its way is settled when the server has answered, whether somebody waits for it or not; until then its key is held. What the
 * server has taken is sent, also when the database is away for so long that nobody could write it down yet.
 */
async function inTime(context: Context, booked: Booked, key: HeldKey): Promise<EmailRow> {
  const { id } = booked.email
  const late = Promise.withResolvers<EmailRow>()
  let taken: EmailRow | null = null
  const sent = keepOpen(
    context,
    sendAndSettle(context, { ...booked, key }, (email) => {
      taken = email
    }),
  )
  const timer = setTimeout(() => {
    if (taken) late.resolve(taken)
    else late.reject(stillUnderWay(id))
    sent.catch((error: Error) =>
      context.log.info({ email_id: id, reason: error.message }, 'an e-mail failed after its request was answered'),
    )
  }, answerWithinMs)
  return Promise.race([sent, late.promise]).finally(() => clearTimeout(timer))
}

const stillUnderWay = (id: EmailId) =>
  new ApiError(
    'provider_error',
    `The outgoing mail server has not answered within ${answerWithinMs / 1000} s. It may still take this mail: GET /emails/${formatId('eml', id)} tells what becomes of it. A repeat with the same Idempotency-Key sends nothing while this is open, and tries again if it failed; without one, a repeat is a second mail.`,
  )

async function refuseHindered(context: Context, { mailbox, hindrances, to }: Draft, field: string): Promise<void> {
  const { database, caller } = context
  const found = hindrances ?? (await findHindrances(database, { project_id: caller.project_id, mailbox_id: mailbox.id, to_key: to.key }))
  if (found.suppressed_for)
    throw invalid(
      field,
      `is suppressed (${found.suppressed_for}): it gets no more mail from this project. DELETE /suppressions/{email} lifts that.`,
    )
  if (found.has_failed_last) await refuseHopeless(context, mailbox)
}

const maxFailures = 60
const hourMs = 3_600_000

/** Mail that nobody takes is not counted against the plan; without a limit, anybody could fill our disk and annoy the relay with it. */
async function refuseHopeless({ database, clock, caller }: Context, { id }: MailboxRow): Promise<void> {
  const since = new Date(clock.now().getTime() - hourMs)
  if (!(await hasOnlyFailed(database, { project_id: caller.project_id, mailbox_id: id, count: maxFailures, since }))) return
  throw new ApiError(
    'rate_limited',
    `The last ${maxFailures} mails from this mailbox were all refused within the hour. Find out why, and try again later.`,
    {
      headers: { 'retry-after': '600' },
    },
  )
}

const recordOf = async ({ database, caller }: Context, id: string): Promise<EmailRow> => {
  const email = await findEmail(database, { project_id: caller.project_id, id: id as EmailId, mailbox_id: null })
  if (!email) throw goneSince()
  return email
}

/** The key outlives what it made when its recipient is erased. It must not make it again, nor fail in a way that asks for another try. */
const goneSince = () =>
  new ApiError(
    'not_found',
    'The e-mail of this Idempotency-Key was sent, and its record has been erased since. Nothing was sent again. A new mail needs a new key.',
  )

type Taken = Extract<Outcome, { kind: 'delivered' }>

interface Sending extends Booked {
  key: HeldKey
}

interface Booked {
  mailbox: MailboxRow
  returnHost: string | undefined
  email: EmailRow
  receipt: string | null
}

async function book(context: Context, { operation, toField, prepare }: Request, key: HeldKey): Promise<Booked> {
  const draft = await prepare()
  await refuseHindered(context, draft, toField)
  return { mailbox: draft.mailbox, returnHost: draft.return_host, ...(await bookOnce(context, { operation, draft, key })) }
}

/** Only what was not taken gives its key back. From the other server's yes on, nothing sends this mail again while this process lives. */
async function sendAndSettle(context: Context, sending: Sending, onTaken: (email: EmailRow) => void): Promise<EmailRow> {
  const { email: booked, key } = sending
  const outcome = await orGiveBack(key, handOver(context, sending))
  const email = asTaken(booked, outcome)
  onTaken(email)
  const about = { log: context.log, about: { email_id: email.id, outcome: outcome.kind } }
  const settle = (isRepeat: boolean) => (isRepeat ? settleSentAgain : settleSent)(context, email, outcome)
  await writesOf(context).write(settle, about)
  await writesOf(context).write(() => key.finish(email.id), about)
  return email
}

async function handOver(context: Context, { mailbox, returnHost, email: booked, key }: Sending): Promise<Taken> {
  const { secrets, config, log } = context
  const { project_id, id } = booked
  const returnPath = returnPathOf({ secrets, mailDomain: config.MAIL_DOMAIN, returnHost }, { kind: 'email', project_id, id })
  await key.confirm()
  const outcome = await sendNow(context, mailOf(mailbox, booked), { project_id, returnPath })
  if (outcome.kind === 'delivered') return outcome
  const isRepeatable = context.request.idempotency_key !== null
  const settle = () => settleUnsent(context, { email: booked, outcome, isRepeatable })
  throw refused(outcome, await writesOf(context).write(settle, { log, about: { email_id: id, outcome: outcome.kind } }))
}

const mailOf = (mailbox: MailboxRow, booked: EmailRow): OutgoingMail => ({
  from: { name: mailbox.name, address: booked.from_address },
  to: booked.to_address,
  reply_to: booked.reply_to,
  subject: booked.subject,
  text: booked.text_body,
  html: booked.html_body,
  message_id: booked.provider_message_id as string,
  date: booked.created_at,
  headers: threadHeaders(booked),
})

const refused = (outcome: Exclude<Outcome, Taken>, isGivenUp: boolean) =>
  new ApiError(
    'provider_error',
    `The outgoing mail server did not take this mail: ${outcome.reason}. It was not counted. ${isGivenUp ? whatNowForAddress : whatNow}`,
    { cause: outcome },
  )
const whatNow = 'Send it again with the same Idempotency-Key: it keeps its Message-ID, by which a copy that did arrive is recognised.'
const whatNowForAddress =
  'The address is suppressed from now on, because nobody is there. When that is wrong, DELETE /suppressions/{email} and send it again.'
