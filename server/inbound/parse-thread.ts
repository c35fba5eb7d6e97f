import { Resolver } from 'node:dns/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { reasonOf } from '../base/errors.ts'
import { parseHeadOnly, parseMail } from '../mail/inbound/parse-mail.ts'
import { beatEveryMs, type ParseAnswer, type ParseTask, type ParseThreadData } from './parse-task.ts'
import { createJudge, type Judge } from './verdicts.ts'

/** What the threads do that `parse-pool.ts` starts: read mail and judge it, several at once, since judging waits for name servers. */
export function runParseThread(): void {
  const { mailDomain, dnsServers } = workerData as ParseThreadData
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (dnsServers.length > 0) resolver.setServers(dnsServers)
  const judge = createJudge({ resolver, mailDomain })
  const tell = (answer: ParseAnswer) => parentPort?.postMessage(answer)
  parentPort?.on('message', async (task: ParseTask) => tell(await answerTo(task, judge)))
  setInterval(() => tell({ kind: 'beat' }), beatEveryMs)
  tell({ kind: 'ready' })
}

async function answerTo(task: ParseTask, judge: Judge): Promise<ParseAnswer> {
  const { number, envelope_from, address, helo, problem } = task
  const raw = Buffer.from(task.raw.buffer, task.raw.byteOffset, task.raw.byteLength)
  try {
    const parsed = problem === null ? await parseMail(raw, { envelope_from }) : await parseHeadOnly(raw, problem)
    const verdicts = await judge({ raw, envelope_from, address, helo, from: parsed.from })
    return { kind: 'read', number, parsed, verdicts }
  } catch (error) {
    return { kind: 'failed', number, reason: reasonOf(error) }
  }
}
