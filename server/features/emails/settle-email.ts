import { oneForEach } from '../../base/one-for-each.ts'
import { together } from '../../base/together.ts'
import { type Database, isConnectionLoss, type Transaction } from '../../database/database.ts'
import type { Outcome } from '../../delivery/send-now.ts'
import type { Context } from '../../operations/context.ts'
import { findProjectNow } from '../agents/index.ts'
import { tellOfMail } from '../mailboxes/index.ts'
import { noteRefusal } from '../recipients/index.ts'
import { releaseEmails } from '../usage/index.ts'
import type { EmailRow } from './email.ts'
import { settleTaken } from './email-batch-queries.ts'
import { lockUnsettled, markParentReplied, settleFailed } from './email-queries.ts'

type Delivered = Extract<Outcome, { kind: 'delivered' }>
type Refused = Exclude<Outcome, Delivered>

interface Sent {
  email: EmailRow
  smtp_code: number | null
}

/**
 * What this process has sent is settled together: one statement, and one wait for the disk, for all that were taken while the ones
 * before were being settled. Alone, each would hold its mailbox over a commit, and all mail of a mailbox would wait in line.
 */
const settleWithOthers = oneForEach((database: Database) =>
  // Nobody knows whether a commit that was not answered has happened: `settleSentAgain` looks first.
  together((sent: Sent[]) => settleAll(database, sent), { most: 100, isOfAll: isConnectionLoss }),
)

/** What is known of a mail in the moment in which the other server has taken it. */
export const asTaken = (email: EmailRow, { message_id }: Delivered): EmailRow => ({
  ...email,
  ...(message_id === undefined ? {} : { provider_message_id: message_id }),
  status: 'delivered',
  reason: null,
})

/** The booking has left its row in the audit log; this is the end of the same change. */
export const settleSent = ({ database, trail }: Context, email: EmailRow, { smtp_code }: Delivered): Promise<void> =>
  settleWithOthers(trail?.database ?? database)({ email, smtp_code })

/** After a try of which nobody knows whether it was committed: what is settled twice would be counted and told of twice. */
export function settleSentAgain({ database: audited, trail }: Context, email: EmailRow, { smtp_code }: Delivered): Promise<void> {
  const database = trail?.database ?? audited
  return database.transaction(async (tx) => {
    if (await lockUnsettled(tx, email)) await settleIn(tx, database, [{ email, smtp_code }])
  })
}

function settleAll(database: Database, sent: Sent[]): Promise<undefined[]> {
  const isSingle = sent.every(({ email }) => email.in_reply_to === null)
  const settle = async (tx: Transaction) => {
    await settleIn(tx, database, sent)
    return sent.map(() => undefined)
  }
  return database.transaction(settle, { single: isSingle })
}

async function settleIn(tx: Transaction, database: Database, sent: Sent[]): Promise<void> {
  const emails = sent.map(({ email }) => email)
  const replies = new Map(emails.filter(({ in_reply_to }) => in_reply_to !== null).map((email) => [email.id, email]))
  for (const { id, home } of await settleTaken(tx, sent)) {
    const reply = replies.get(id)
    if (reply) await markParentReplied(tx, home, reply)
  }
  tx.afterCommit(() => tellOfMail(database, [...new Set(emails.map(({ mailbox_id }) => mailbox_id))]))
}

interface Unsent {
  email: EmailRow
  outcome: Refused
  isRepeatable: boolean
}

/**
 * What did not leave is not counted: the allowance goes back to where it came from. True when the answer has shown that nobody is there:
 * the address gets no more mail.
 */
export const settleUnsent = ({ database }: Context, { email, outcome, isRepeatable }: Unsent): Promise<boolean> =>
  database.transaction(async (tx) => {
    const { project_id, id, reservation_id } = email
    const { smtp_code, enhanced_code, reason } = outcome
    const isSoftBounce = outcome.kind === 'bounced' && outcome.bounce_class === 'soft'
    // A merge may have taken everything else into another project while this was on its way.
    const home = await findProjectNow(tx, project_id)
    await settleFailed(tx, { project_id, id, smtp_code, enhanced_code, reason, isSoftBounce, keepsBody: isRepeatable })
    if (reservation_id) await releaseEmails(tx, { project_id: home, reservation_id, count: 1 })
    return outcome.kind === 'bounced' && (await noteRefusal(tx, { project_id: home, email: email.to_address }, outcome))
  })
