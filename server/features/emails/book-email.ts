import { type EmailId, formatId, newId } from '../../base/ids.ts'
import { oneForEach } from '../../base/one-for-each.ts'
import { together } from '../../base/together.ts'
import { type Database, isConnectionLoss, type Transaction } from '../../database/database.ts'
import type { AuditTrail } from '../../operations/audit.ts'
import type { Context } from '../../operations/context.ts'
import { type HeldKey, rememberBegun, rememberEachBegun } from '../../operations/idempotency.ts'
import type { MailboxRow } from '../mailboxes/index.ts'
import { bookEmails, isForPlanAlone } from '../payments/index.ts'
import type { EmailRow } from './email.ts'
import { type BookedEmail, insertWithinPlan } from './email-batch-queries.ts'
import { findEmail, type Hindrances, type UnsentEmail, upsertEmail } from './email-queries.ts'
import { type Parentage, threadBegunBy } from './threading.ts'

/** One mail from one mailbox, before anything is booked for it. */
export interface Draft extends Parentage {
  mailbox: MailboxRow
  /** Where bounces come, if not to MAIL_DOMAIN: the mailbox is at a domain of the project's own. */
  return_host?: string
  /** Null when nobody has looked yet. */
  hindrances: Hindrances | null
  to: { address: string; key: string }
  reply_to: string | null
  subject: string
  text: string | null
  html: string | null
  source_tag: string | null
  metadata: Record<string, string>
  tags: { name: string; value: string }[] | null
}

interface Booking {
  operation: string
  draft: Draft
  key: HeldKey
}

type UnbookedEmail = Omit<UnsentEmail, 'reservation_id'>

interface Booked {
  email: EmailRow
  receipt: string | null
}

/** After a crash in the middle of sending, what was booked (and perhaps paid) then still stands: the repeat books nothing new. */
export async function bookOnce(context: Context, { operation, draft, key }: Booking): Promise<Booked> {
  const { caller, database } = context
  const id = (key.begun ?? newId<'eml'>()) as EmailId
  const mail = emailOf(context, draft, id)
  const begun = key.begun === null ? null : await findEmail(database, { project_id: caller.project_id, id, mailbox_id: null })
  const standing = begun?.reservation_id ?? null
  if (standing)
    return { email: await database.transaction((tx) => upsertEmail(tx, { ...mail, reservation_id: standing })), receipt: key.receipt }
  const booked = key.begun === null ? await bookTogether(context, mail, key) : null
  if (booked) return { email: booked, receipt: null }
  const { result: email, receipt } = await bookEmails(
    context,
    { operation, target: draft.mailbox.address, count: 1 },
    async (tx, reservation_id) => {
      await rememberBegun(tx, key, id)
      return upsertEmail(tx, { ...mail, reservation_id })
    },
  )
  if (receipt !== null) await key.noteReceipt(receipt)
  return { email, receipt }
}

function emailOf({ caller, config }: Context, draft: Draft, id: EmailId): UnbookedEmail {
  const { mailbox, return_host, hindrances: _, to, text, html, ...rest } = draft
  return {
    ...rest,
    thread_id: rest.thread_id ?? threadBegunBy(id),
    project_id: caller.project_id,
    id,
    mailbox_id: mailbox.id,
    from_address: mailbox.address,
    from_name: mailbox.name,
    to_address: to.address,
    to_key: to.key,
    text_body: text,
    html_body: html,
    provider_message_id: `${formatId('eml', id)}@${return_host === undefined ? config.MAIL_DOMAIN : domainOf(mailbox.address)}`,
  }
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

/** A hundred of them are still a statement of a few megabytes. Longer ones go alone. */
const mostLetters = 50_000

/** Null when it has to be booked alone: there may be no room, or somebody else's allowance counts. Then nothing has changed. */
async function bookTogether(context: Context, mail: UnbookedEmail, key: HeldKey): Promise<EmailRow | null> {
  const letters = (mail.text_body?.length ?? 0) + (mail.html_body?.length ?? 0)
  if (!context.trail || letters > mostLetters || !isForPlanAlone(context)) return null
  return bookWithOthers(context.trail.database)({
    context: { ...context, trail: context.trail },
    mail: { ...mail, reservation_id: newId() },
    key,
  })
}

interface Asking {
  context: Context & { trail: AuditTrail }
  mail: BookedEmail
  key: HeldKey
}

class NoRoom extends Error {}

/**
 * All sends of a project wait for the row of its month. Those that come while others are being booked share one transaction, and one
 * wait for the disk: all of them fit, or each is booked alone, so that the limit is exact.
 */
const bookWithOthers = oneForEach((database: Database) =>
  together<Asking, EmailRow | null>(
    (asking) =>
      bookAll(database, asking).catch((error: unknown) => {
        if (error instanceof NoRoom) return asking.map(() => null)
        throw error
      }),
    { most: 100, lineOf: ({ mail }) => mail.project_id, isOfAll: isConnectionLoss },
  ),
)

function bookAll(database: Database, asking: Asking[]): Promise<EmailRow[]> {
  const [{ context }] = asking as [Asking] // there is no batch of none
  const keyed = asking.filter(({ key }) => key.held !== null)
  const book = async (tx: Transaction) => {
    if (keyed.length > 0)
      await rememberEachBegun(
        tx,
        keyed.map(({ key, mail }) => ({ key, result_id: mail.id })),
      )
    // Last: other processes wait for the month's row, too.
    const emails = await insertWithinPlan(context, tx, {
      emails: asking.map(({ mail }) => mail),
      trails: asking.map((one) => one.context.trail),
    })
    if (!emails) throw new NoRoom()
    return emails
  }
  return database.transaction(book, { single: keyed.length === 0 })
}
