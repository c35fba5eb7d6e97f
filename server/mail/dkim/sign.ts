import type { KeyObject } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { Clock } from '../../base/clock.ts'
import { bodyHash, type Field, readFields } from './canonical.ts'
import { type DkimAlgorithm, type SignText, signInPool } from './sign-in-pool.ts'

export type { DkimAlgorithm }

export interface DkimKey {
  selector: string
  algorithm: DkimAlgorithm
  private_key: KeyObject
}

export interface DkimSigner {
  /**
   * The DKIM-Signature fields to put on top of the headers, one for each key. Neither block has the empty line between them. Whether the
   * lines of a body have their relaxed form already costs a tenth of a millisecond to find out: whoever made them so says it.
   */
  sign(headers: Buffer, body: Buffer, about?: { isRelaxed: boolean }): Promise<Buffer>
}

/**
 * What is signed where it is there: all that a reader or a machine acts on. RFC 8058 section 4 demands both List-Unsubscribe fields,
 * and Gmail the Feedback-ID.
 */
const signed = new Set([
  ...['from', 'sender', 'reply-to', 'to', 'cc', 'subject', 'date', 'message-id', 'in-reply-to', 'references'],
  ...['mime-version', 'content-type', 'content-transfer-encoding', 'auto-submitted'],
  ...['list-id', 'list-unsubscribe', 'list-unsubscribe-post', 'list-help', 'list-archive', 'list-owner', 'list-post', 'list-subscribe'],
  ...['feedback-id', 'cfbl-address', 'cfbl-feedback-id'],
])

const keyTypes: Record<DkimAlgorithm, string> = { 'rsa-sha256': 'rsa', 'ed25519-sha256': 'ed25519' }

export interface DkimSignerParts {
  domain: string
  keys: DkimKey[]
  clock: Clock
  signText?: SignText
}

/** RFC 6376 signer with RFC 8463's second algorithm: both signatures stand on one hash of the body. */
export function createDkimSigner({ domain, keys, clock, signText = signInPool }: DkimSignerParts): DkimSigner {
  const signingDomain = domainToASCII(domain)
  if (!/^[a-z\d-]+(?:\.[a-z\d-]+)+$/.test(signingDomain)) throw new Error(`"${domain}" is not a domain that mail can be signed for`)
  for (const key of keys) checkKey(key)
  const linesOfNames = createNamesFolding()
  return {
    async sign(headers, body, { isRelaxed } = { isRelaxed: false }) {
      const fields = readFields(headers).filter(({ name }) => signed.has(name))
      if (!fields.some(({ name }) => name === 'from')) throw new Error('A message without From cannot be signed')
      const about = {
        domain: signingDomain,
        seconds: Math.floor(clock.now().getTime() / 1000),
        text: signedText(fields),
        // RFC 6376 section 8.15: From named once more than it is there, so that nobody can add another one.
        names: linesOfNames([...fields.map(({ name }) => name), 'from']),
        bodyHash: bodyHash(body, { isRelaxed }),
      }
      const signatures = await Promise.all(keys.map((key) => signature(key, about, signText)))
      return Buffer.from(signatures.join(''), 'latin1')
    },
  }
}

function checkKey({ selector, algorithm, private_key }: DkimKey): void {
  if (!/^[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)*$/i.test(selector))
    throw new Error(`"${selector}" is not a DKIM selector`)
  if (private_key.type !== 'private' || private_key.asymmetricKeyType !== keyTypes[algorithm]) {
    throw new Error(`The key of the selector ${selector} is no private key for ${algorithm}`)
  }
  // RFC 8301 section 3.2: shorter ones are not to be used.
  const bits = private_key.asymmetricKeyDetails?.modulusLength
  if (bits !== undefined && bits < 1024) throw new Error(`The RSA key of the selector ${selector} has ${bits} bits; 2048 are needed`)
}

interface About {
  domain: string
  seconds: number
  /** What is signed of the fields, relaxed, a line each. */
  text: string
  /** `h=` over its lines. */
  names: string[]
  bodyHash: string
}

async function signature({ selector, algorithm, private_key }: DkimKey, about: About, signText: SignText): Promise<string> {
  const lines = [
    `v=1; a=${algorithm}; c=relaxed/relaxed; d=${about.domain};`,
    `s=${selector}; t=${about.seconds};`,
    ...about.names,
    `bh=${about.bodyHash};`,
    'b=',
  ]
  // The field itself, without the signature, is the last of what is signed: its relaxed form is one line.
  const value = await signText(algorithm, `${about.text}dkim-signature:${lines.join(' ')}`, private_key)
  return `DKIM-Signature: ${lines.join('\r\n ')}${folded(value)}\r\n`
}

const lettersOfLine = 72

function folded(value: string): string {
  let lines = value.slice(0, lettersOfLine)
  for (let at = lettersOfLine; at < value.length; at += lettersOfLine) lines += `\r\n ${value.slice(at, at + lettersOfLine)}`
  return lines
}

/** RFC 6376 section 5.4.2: of a name that is there more than once, the lowest field is the first to be meant. */
function signedText(fields: Field[]): string {
  let text = ''
  if (new Set(fields.map(({ name }) => name)).size === fields.length) {
    for (const { relaxed } of fields) text += `${relaxed}\r\n`
    return text
  }
  const byName = Map.groupBy(fields, ({ name }) => name)
  for (const { name } of fields) text += `${byName.get(name)?.pop()?.relaxed}\r\n`
  return text
}

/** `h=` over as many lines as it needs: it may be folded at its colons. The next message mostly has the same. */
function createNamesFolding(): (names: string[]) => string[] {
  let last = { joined: '', lines: [] as string[] }
  return (names) => {
    const joined = names.join(':')
    if (joined !== last.joined) last = { joined, lines: foldedNames(names) }
    return last.lines
  }
}

function foldedNames(names: string[]): string[] {
  const lines: string[] = []
  let line = 'h='
  for (const [index, name] of names.entries()) {
    const piece = index === names.length - 1 ? `${name};` : `${name}:`
    if (line.length + piece.length > 75) {
      lines.push(line)
      line = ''
    }
    line += piece
  }
  return [...lines, line]
}
