// The thread that server/mail/dkim/signing-threads.ts starts. Plain JavaScript with nothing but Node's own: a thread that had to read
// TypeScript would take 15 MB more.
import { createHash, sign } from 'node:crypto'
import { parentPort } from 'node:worker_threads'

const keys = new Map()

/** As signInPool has it. */
const signText = (algorithm, text, key) => {
  const data = Buffer.from(text, 'latin1')
  return algorithm === 'rsa-sha256' ? sign('sha256', data, key) : sign(null, createHash('sha256').update(data).digest(), key)
}

parentPort?.on('message', (asked) => {
  if (asked.kind === 'key') keys.set(asked.number, asked.key)
  else if (asked.kind === 'forget keys') keys.clear()
  else parentPort?.postMessage(asked.jobs.map(({ key, algorithm, text }) => signText(algorithm, text, keys.get(key)).toString('base64')))
})
