import { Resolver } from 'node:dns/promises'
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
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (dnsServers.length > 0) resolver.setServers(dnsServers)
  const needs = { judge: createJudge({ resolver, mailDomain, places: maxAtOnce }), inTurn: createTurns() }
  const tell = (answer: ParseAnswer) => parentPort?.postMessage(answer, answer.kind === 'read' ? [answer.parsed.long.buffer] : [])
  parentPort?.on('message', async (task: ParseTask) => tell(await answerTo(task, needs)))
  setInterval(() => tell({ kind: 'beat' }), beatEveryMs)
  tell({ kind: 'ready' })
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
