import { ApiError } from '../../base/errors.ts'
import type { Context } from '../../operations/context.ts'
import type { InboxSummaryRow } from './inbox-email.ts'
import { type BoxKey, emailsAfter, type InboxFilter, lastPlace, lookedThrough } from './inbox-queries.ts'
import { watchMailbox } from './mail-watch.ts'

interface Wanted extends InboxFilter {
  after: number
  limit: number
  seconds: number
}

interface Arrived {
  rows: InboxSummaryRow[]
  /** Where the next look begins. */
  next: number
  /** Nothing more is in the mailbox now. */
  isAll: boolean
}

/** Who waits is told of mail; that nobody was, as when a process dies right after it has filed some, is found out this soon. */
const lookEveryMs = 15_000

/** What is in the mailbox after that place; when nothing is, what comes first within so many seconds, or nothing. */
export async function waitForMail(context: Context, box: BoxKey, { seconds, after: begin, ...wanted }: Wanted): Promise<Arrived> {
  let after = begin
  const deadline = performance.now() + seconds * 1000
  // Ends the watch with this request, however that ends.
  const over = new AbortController()
  const ended = context.request.patience?.ended()
  const leave = () => over.abort()
  ended?.addEventListener('abort', leave, { once: true })
  try {
    // Before the first look: what comes after it is heard of.
    const watch = watchMailbox(context.database, context.caller, { mailbox_id: box.mailbox_id, ended: over.signal })
    for (;;) {
      const arrived = await look(context, box, { ...wanted, after })
      const leftMs = deadline - performance.now()
      if (arrived.rows.length > 0 || !arrived.isAll || leftMs <= 0 || ended?.aborted) return arrived
      after = arrived.next
      await watch.rest(Math.min(leftMs, lookEveryMs))
      await refuseRevoked(context)
    }
  } finally {
    ended?.removeEventListener('abort', leave)
    leave()
  }
}

/** The last place is read first: what comes between the two is seen twice rather than never. */
async function look({ database }: Context, box: BoxKey, { after, limit, ...filter }: Omit<Wanted, 'seconds'>): Promise<Arrived> {
  const last = (await lastPlace(database, box)) ?? after
  const rows = await emailsAfter(database, box, { ...filter, after, limit })
  const end = rows.at(-1)?.position ?? after
  // A full page may not be all.
  if (rows.length === limit) return { rows, next: end, isAll: false }
  const stretchEnd = after + lookedThrough
  return { rows, next: Math.max(Math.min(last, stretchEnd), end), isAll: last <= stretchEnd }
}

/** A key that was taken back while it waited gets nothing any more. */
async function refuseRevoked({ request }: Context): Promise<void> {
  if ((await request.patience?.isStillGood()) === false)
    throw new ApiError('unauthorized', 'This credential has ended while the request was waiting.')
}
