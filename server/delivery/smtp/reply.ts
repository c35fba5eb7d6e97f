import { StringDecoder } from 'node:string_decoder'

/** An answer of an SMTP server. `text` is all of it, lines joined by \n, codes included: "250-first\n250 last". */
export interface Reply {
  code: number
  text: string
}

/** What came back cannot be read as SMTP. */
export class NotSmtp extends Error {}

/** RFC 5321 section 4.5.3.1.5 allows 512 bytes a line; some servers say more. Beyond these, somebody is filling our memory. */
const longestLine = 4_096
const longestReply = 65_536

/** Puts replies together from what the socket gives: several in one packet, or one in many. */
export class ReplyReader {
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''
  #lines: string[] = []
  #length = 0

  push(chunk: Buffer): void {
    this.#rest += this.#decoder.write(chunk)
  }

  /** Whether the peer has said more than the replies that were taken. */
  get hasMore(): boolean {
    return this.#rest !== '' || this.#lines.length > 0
  }

  /** The next whole reply, or null while it is not all here. Throws NotSmtp. */
  next(): Reply | null {
    for (;;) {
      const end = this.#rest.indexOf('\n')
      if (end < 0) {
        if (this.#rest.length > longestLine) throw new NotSmtp(`a line of more than ${longestLine} characters`)
        return null
      }
      const line = this.#rest.slice(0, this.#rest[end - 1] === '\r' ? end - 1 : end)
      this.#rest = this.#rest.slice(end + 1)
      const reply = this.#addLine(line)
      if (reply) return reply
    }
  }

  #addLine(line: string): Reply | null {
    const [, code, separator] = /^([2-5]\d\d)([ -]|$)/.exec(line) ?? []
    const isOfThisReply = this.#lines.length === 0 || this.#lines[0]?.startsWith(code ?? '')
    if (code === undefined || !isOfThisReply) throw new NotSmtp(JSON.stringify(line.slice(0, 200)))
    this.#lines.push(line)
    this.#length += line.length
    if (this.#length > longestReply) throw new NotSmtp(`a reply of more than ${longestReply} characters`)
    if (separator === '-') return null
    const reply = { code: Number(code), text: this.#lines.join('\n') }
    this.#lines = []
    this.#length = 0
    return reply
  }
}

/** RFC 3463: the code of three numbers that may follow the one of three digits. */
export const enhancedCodeOf = ({ text }: Reply): string | null => /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1] ?? null
