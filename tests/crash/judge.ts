import { parseId } from '../../server/base/ids.ts'
import { until } from '../support/until.ts'
import type { Broadcast, Stage } from './stage.ts'

export interface Verdict {
  recipients: number
  delivered: number
  bounced: number
  failed: number
  /** How many messages came more often than once, and how many could have: their final dot was unanswered when something died. */
  repeats: number
  unanswered: number
  problems: string[]
}

/** Until the post says that it was sent. Time is made to pass for what was put off, which would otherwise wait for minutes. */
export async function untilSent(stage: Stage, broadcast: Broadcast, withinMs = 180_000): Promise<void> {
  const look = async () => {
    stage.checkAlive()
    await makeDue(stage)
    const { status, broadcast: on } = await broadcast.get()
    // Bad peers may trip the breaker, which waits for a person.
    if (on?.status === 'paused') await broadcast.act('resume')
    return status === 'sent'
  }
  await until('the post to be sent', look, { withinMs, everyMs: 200 })
}

export const makeDue = (stage: Stage): Promise<unknown> =>
  stage
    .query(`update deliveries set next_attempt_at = now() where status = 'queued' and next_attempt_at > now()`)
    // The database is one of the things that are killed.
    .catch(() => {})

interface LedgerRow {
  email: string
  status: string
}

/** Holds the ledger, the counters, the events and what the sink saw against one another. `excused` may have come twice as well. */
export async function judge(stage: Stage, broadcast: Broadcast, excused: Iterable<string> = []): Promise<Verdict> {
  const id = parseId('post', broadcast.postId)
  const ledger = await stage.query<LedgerRow>(
    `select d.email, d.status from deliveries d join posts p on p.project_id = d.project_id and p.broadcast_id = d.broadcast_id where p.id = $1`,
    [id],
  )
  const addresses = new Set(ledger.map(({ email }) => email))
  const { accepted, unanswered } = await stage.sink.report()
  const taken = new Map(accepted.filter(([address]) => addresses.has(address)))
  const inDoubt = [...unanswered.filter((address) => addresses.has(address)), ...excused]
  const count = (status: string) => ledger.filter((row) => row.status === status).length
  const verdict: Verdict = {
    recipients: ledger.length,
    delivered: count('delivered'),
    bounced: count('bounced'),
    failed: count('failed'),
    repeats: [...taken.values()].reduce((sum, times) => sum + times - 1, 0),
    unanswered: inDoubt.length,
    problems: [],
  }
  verdict.problems.push(
    ...problemsOfLedger(await broadcast.get(), ledger, verdict),
    ...problemsOfMail(ledger, taken, inDoubt),
    ...(await problemsOfCounts(stage, broadcast, verdict)),
  )
  return verdict
}

type Post = Awaited<ReturnType<Broadcast['get']>>

function problemsOfLedger({ stats, broadcast }: Post, ledger: LedgerRow[], verdict: Verdict): string[] {
  const problems: string[] = []
  const { recipients = 0 } = stats
  // Aborted early, it did not come to a row for everybody.
  if (ledger.length !== recipients && broadcast?.status !== 'aborted')
    problems.push(`the ledger has ${ledger.length} rows for ${recipients} recipients`)
  if (new Set(ledger.map(({ email }) => email)).size !== ledger.length) problems.push('the ledger names somebody twice')
  const open = ledger.length - verdict.delivered - verdict.bounced - verdict.failed
  if (open !== 0) problems.push(`${open} have no final status`)
  return problems
}

function problemsOfMail(ledger: LedgerRow[], taken: Map<string, number>, inDoubt: string[]): string[] {
  const problems: string[] = []
  const doubts = new Map<string, number>()
  for (const address of inDoubt) doubts.set(address, (doubts.get(address) ?? 0) + 1)
  for (const { email, status } of ledger) {
    const [times, doubt] = [taken.get(email) ?? 0, doubts.get(email) ?? 0]
    if (status === 'delivered' && times === 0) problems.push(`${email} is delivered in the ledger, and never arrived`)
    if (status !== 'delivered' && times > doubt) problems.push(`${email} is ${status} in the ledger, and arrived`)
    if (times - 1 > doubt) problems.push(`${email} arrived ${times} times, with ${doubt} unanswered dots`)
  }
  return problems
}

async function problemsOfCounts(stage: Stage, broadcast: Broadcast, { delivered, bounced, failed }: Verdict): Promise<string[]> {
  const problems: string[] = []
  const [row] = await stage.query<Record<string, number>>(
    `select b.status, b.delivered::int, b.bounced::int, b.failed::int,
       (select count(*)::int from events e where e.type = 'post.delivered' and e.data->>'post_id' = $2) as told
     from broadcasts b join posts p on p.project_id = b.project_id and p.broadcast_id = b.id where p.id = $1`,
    [parseId('post', broadcast.postId), broadcast.postId],
  )
  const counted = { delivered: row?.delivered, bounced: row?.bounced, failed: row?.failed }
  const inLedger = { delivered, bounced, failed }
  if (JSON.stringify(counted) !== JSON.stringify(inLedger))
    problems.push(`the counters say ${JSON.stringify(counted)}, the ledger ${JSON.stringify(inLedger)}`)
  const { stats } = await broadcast.get()
  if (stats.delivered !== delivered || stats.bounced !== bounced) problems.push(`the post's stats say ${JSON.stringify(stats)}`)
  const expected = String(row?.status) === 'aborted' ? 0 : 1
  if (row?.told !== expected) problems.push(`post.delivered was told ${row?.told} times, expected ${expected}`)
  return problems
}
