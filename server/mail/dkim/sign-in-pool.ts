import { createHash, type KeyObject, sign } from 'node:crypto'

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256'

/** Signs a text of bytes, one letter each; answers in base64. */
export type SignText = (algorithm: DkimAlgorithm, text: string, key: KeyObject) => Promise<string>

/** RSA takes half a millisecond: with a callback Node does it beside the event loop, on other cores. */
export const signInPool: SignText = async (algorithm, text, key) => {
  const data = Buffer.from(text, 'latin1')
  // RFC 8463 section 3: Ed25519 signs the hash.
  const [hash, signed] = algorithm === 'rsa-sha256' ? ['sha256', data] : [null, createHash('sha256').update(data).digest()]
  await turns.begin()
  try {
    return await new Promise((resolve, reject) => {
      sign(hash, signed, key, (error, bytes) => (error ? reject(error) : resolve(bytes.toString('base64'))))
    })
  } finally {
    turns.end()
  }
}

/**
 * One thread of Node's pool stays free: a hundred signatures in line would hold up every look-up of a name and every file of this
 * process, which wait in the same line.
 */
const mostAtOnce = Math.max(1, Number(process.env.UV_THREADPOOL_SIZE ?? 4) - 1)
const turns = {
  underWay: 0,
  waiting: [] as (() => void)[],
  async begin(): Promise<void> {
    if (turns.underWay < mostAtOnce) turns.underWay++
    // Whoever ends hands over the turn, so that the count stays.
    else await new Promise<void>((resolve) => turns.waiting.push(resolve))
  },
  end(): void {
    const next = turns.waiting.shift()
    if (next) next()
    else turns.underWay--
  },
}
