/**
 * What this process has done since its start: plain numbers, by labels as Prometheus writes them. A step takes less than a tenth of a
 * microsecond, so they count whether anybody asks or not. A thread has its own, and gives them to the main one (`takeCounts`).
 */
type Counter = Map<string, number>

const zeros = (labels: string[]): Counter => new Map(labels.map((label) => [label, 0]))

export const counters = {
  requests: zeros(['status="2xx"', 'status="3xx"', 'status="4xx"', 'status="5xx"']),
  mail_out: zeros([]),
  mail_in: zeros(['answer="250"']),
  webhook_attempts: zeros(['result="delivered"', 'result="refused"', 'result="unanswered"']),
}

const add = (counter: Counter, labels: string, by = 1): void => void counter.set(labels, (counter.get(labels) ?? 0) + by)

const classes = [1, 2, 3, 4, 5].map((hundreds) => `status="${hundreds}xx"`)

export const countRequest = (status: number): void => add(counters.requests, classes[Math.floor(status / 100) - 1] ?? 'status="other"')

const outcomes = ['delivered', 'deferred', 'bounced', 'failed'] as const
type OutcomeKind = (typeof outcomes)[number]
/** Written once for each transport: putting them together took five times as long as counting. */
const mailLabels = new Map<string, Record<OutcomeKind, string>>()

function labelsOf(transport: string): Record<OutcomeKind, string> {
  const known = mailLabels.get(transport)
  if (known) return known
  const made = Object.fromEntries(outcomes.map((kind) => [kind, `transport="${transport}",outcome="${kind}"`])) as Record<
    OutcomeKind,
    string
  >
  mailLabels.set(transport, made)
  return made
}

/** How an attempt to send ended. Nobody was asked about one that was not begun. */
export function countMail(transport: string, outcome: { kind: OutcomeKind; isUnbegun?: true }): void {
  if (!outcome.isUnbegun) add(counters.mail_out, labelsOf(transport)[outcome.kind])
}

/** 250 is a message that was taken in; all else is what somebody was refused with, at whichever command. */
export const countAnswer = (code: number): void => add(counters.mail_in, `answer="${code}"`)

export function countWebhookAttempt({ status, http_status }: { status: 'delivered' | 'failed'; http_status: number | null }): void {
  const result = status === 'delivered' ? 'delivered' : http_status === null ? 'unanswered' : 'refused'
  add(counters.webhook_attempts, `result="${result}"`)
}

export type Counts = Record<keyof typeof counters, [labels: string, count: number][]>

/** What was counted here since the last time, for whoever adds it up. */
export function takeCounts(): Counts {
  const taken: Partial<Counts> = {}
  for (const name of names) {
    taken[name] = [...counters[name]].filter(([, count]) => count > 0)
    for (const [labels] of taken[name]) counters[name].set(labels, 0)
  }
  return taken as Counts
}

export function addCounts(counts: Counts): void {
  for (const name of names) for (const [labels, count] of counts[name]) add(counters[name], labels, count)
}

const names = Object.keys(counters) as (keyof typeof counters)[]
