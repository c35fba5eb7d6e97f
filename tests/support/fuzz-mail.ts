import { Resolver } from 'node:dns/promises'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { threadMs } from '../../server/base/thread-time.ts'
import { createJudge } from '../../server/inbound/verdicts.ts'
import { parseMail, readAttachments } from '../../server/mail/inbound/parse-mail.ts'
import { sanitiseHtml } from '../../server/mail/inbound/sanitise-html.ts'
import { mutateMail } from './mutate-mail.ts'

export interface FuzzOrder {
  firstSeed: number
  count: number
  /** The seed that is being looked at, for whoever has to end this thread. */
  current: Int32Array
}

export interface FuzzReport {
  /** Of all that is done to a message, one step after the other. */
  slowest: { seed: number; ms: number }
  /** Messages of which only the head was read. */
  given_up: number
  /** Of the whole process, when half of them were read and at the end. */
  half_mb: number
  end_mb: number
  problems: string[]
}

/** A thread that reads bad mail, with all that is done to it afterwards, and tells what went wrong. */
const root = join(import.meta.dirname, '../../server/mail')
const corpus = globSync(join(root, '{inbound,reports}/**/*.eml'))
  .sort()
  .map((file) => readFileSync(file))

/** What senders have written about themselves is read also where nobody can be asked about it. */
const nobody = Object.assign(new Resolver(), {
  resolve: () => Promise.reject(Object.assign(new Error('nobody answers'), { code: 'ENOTFOUND' })),
})
const judge = createJudge({ resolver: nobody, mailDomain: 'posthaste.test', places: 1 })

const residentMb = () => process.memoryUsage.rss() / 2 ** 20

const { firstSeed, count, current } = workerData as FuzzOrder
const report: FuzzReport = { slowest: { seed: 0, ms: 0 }, given_up: 0, half_mb: 0, end_mb: 0, problems: [] }
for (let seed = firstSeed; seed < firstSeed + count; seed++) {
  Atomics.store(current, 0, seed)
  if (seed === firstSeed + Math.floor(count / 2)) report.half_mb = residentMb()
  const mail = mutateMail(corpus, seed)
  try {
    await look(mail, seed)
  } catch (error) {
    report.problems.push(`seed ${seed}: ${(error as Error).stack}`)
  }
}
report.end_mb = residentMb()
parentPort?.postMessage(report)

async function timed<Result>(seed: number, step: () => Result | Promise<Result>): Promise<Result> {
  const began = threadMs()
  const result = await step()
  const ms = threadMs() - began
  if (ms > report.slowest.ms) report.slowest = { seed, ms }
  return result
}

async function look(mail: Buffer, seed: number): Promise<void> {
  const parsed = await timed(seed, () => parseMail(mail, { envelope_from: '' }))
  if (parsed.problem) report.given_up++
  const { from } = parsed
  const verdicts = await timed(seed, () =>
    judge({ raw: mail, envelope_from: from?.address ?? '', address: '192.0.2.1', helo: 'mx.test', from }),
  )
  if (verdicts.authenticated_domain !== null) throw new Error('nobody vouched for it, and somebody is vouched for')
  const json = JSON.stringify({ ...parsed, verdicts })
  if (/\\u0000|\\ud[89a-f][\da-f]{2}/i.test(json)) throw new Error('what was read cannot be stored')
  if (json.length > 20 * mail.length + 100_000) throw new Error(`${mail.length} bytes became ${json.length} letters`)
  const bytes = await timed(seed, () => readAttachments(mail))
  if (!parsed.problem && bytes.length !== parsed.attachments.length) throw new Error('the attachments are not those that were listed')
  const { html } = parsed
  if (html === null) return
  const shown = await timed(seed, () => sanitiseHtml(html, { linkOfContentId: () => null }))
  if (
    /<(?:script|style|iframe|object|embed|form|svg|math|base|meta|link)\b|<[^>]*\son\w+\s*=|<[^>]*javascript:/i.test(
      shown.replace(/"[^"]*"/g, '""'),
    )
  )
    throw new Error(`unsafe HTML: ${shown.slice(0, 500)}`)
}
