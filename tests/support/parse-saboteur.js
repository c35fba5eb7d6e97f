// A thread that reads mail with two mistakes in it: a word in the message makes it die, or go round and round.
import { parentPort } from 'node:worker_threads'

parentPort.on('message', (tasks) => tasks.forEach(read))

function read({ raw, problem }) {
  const text = Buffer.from(raw).toString('latin1')
  // The same, only when it is to read all of it.
  const isSpared = text.includes('DIE-WHOLE') && problem !== null
  if (text.includes('DIE') && !isSpared) process.exit(1)
  if (text.includes('HANG')) for (;;) performance.now()
}

const { runParseThread } = await import('../../server/inbound/parse-thread.ts')
runParseThread()
