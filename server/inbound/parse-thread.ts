import { Resolver } from 'node:dns/promises'
import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { reasonOf } from '../base/errors.ts'
import { packMail } from '../mail/inbound/packed-mail.ts'
import { parseHeadOnly, parseMail } from '../mail/inbound/parse-mail.ts'
import { isWorthALook, readBackchannel } from '../mail/reports/read-backchannel.ts'
import { beatEveryMs, maxAtOnce, type ParseAnswer, type ParseTask, type ParseThreadData, type ReadMail } from './parse-task.ts'
import { createJudge, type Judge } from './verdicts.ts'

/** What the threads do that `parse-pool.ts` starts: read mail and judge it, several at once, since judging waits for name servers. */
export function runParseThread(): void {
  const { mailDomain, dnsServers } = workerData as ParseThreadData
  stepBack()
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (dnsServers.length > 0) resolver.setServers(dnsServers)
  const needs = { judge: createJudge({ resolver, mailDomain, places: maxAtOnce }), inTurn: createTurns() }
  const tell = createTelling()
  parentPort?.on('message', (tasks: ParseTask[]) => {
    for (const task of tasks) void answerTo(task, needs).then(tell)
  })
  setInterval(() => tell({ kind: 'beat' }), beatEveryMs)
  tell({ kind: 'ready' })
}

/**
 * Taking mail in goes before reading it: twenty sessions that wait for an answer leave a processor idle, and what waits to be read fills it.
 * Only Linux knows the priority of a single thread; elsewhere it would be that of the whole process.
 */
function stepBack(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, Math.min(19, getPriority(0) + 5))
  } catch {
    // A sandbox may forbid it: mail is read all the same.
  }
}

/** One after the other: side by side, all that they have half done would outlive one collection after the other, and be copied each time. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(read: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(read)
    last = turn.catch(() => {})
    return turn
  }
}

/** At once, unless something was told just now: then all that comes up meanwhile goes together, since each message costs both sides a turn. */
function createTelling() {
  const outbox: ParseAnswer[] = []
  let last = 0
  const post = () => {
    const answers = outbox.splice(0)
    last = performance.now()
    if (answers.length > 0)
      parentPort?.postMessage(
        answers,
        answers.flatMap((answer) => (answer.kind === 'read' ? (answer.parsed.bodies?.buffer ?? []) : [])),
      )
  }
  return (answer: ParseAnswer): void => {
    const isFirst = outbox.push(answer) === 1
    if (performance.now() - last > tellEveryMs) post()
    else if (isFirst) setImmediate(post)
  }
}

const tellEveryMs = 5

interface Needs {
  judge: Judge
  inTurn: ReturnType<typeof createTurns>
}

async function answerTo(task: ParseTask, { judge, inTurn }: Needs): Promise<ParseAnswer> {
  const { number, envelope_from, address, helo } = task
  const raw = Buffer.from(task.raw.buffer, task.raw.byteOffset, task.raw.byteLength)
  try {
    const { parsed, backchannel } = await inTurn(() => read(raw, task))
    const verdicts = await judge({ raw, envelope_from, address, helo, from: parsed.from })
    return { kind: 'read', number, parsed, verdicts, backchannel }
  } catch (error) {
    return { kind: 'failed', number, reason: reasonOf(error) }
  }
}

/** Packed before it waits for name servers: what is text until then outlives no collection. */
async function read(raw: Buffer, task: ParseTask): Promise<Omit<ReadMail, 'verdicts'>> {
  // Whatever was the end of a thread before is not read for what it says about others.
  if (task.problem !== null) return { parsed: packMail(await parseHeadOnly(raw, task.problem)), backchannel: null }
  const parsed = await parseMail(raw, task)
  return { parsed: packMail(parsed), backchannel: isWorthALook(parsed, task) ? await readBackchannel(raw) : null }
}
