import { isUtf8 } from 'node:buffer'
import PostalMime, { type Email, type PostalMimeOptions } from 'postal-mime'

/** What postal-mime 4.0.0 has inside and does not show. A test holds it to that. */
interface Inside {
  /** The message, and how far it is read. */
  av: Uint8Array<ArrayBuffer>
  readPos: number
  /** Of the multiparts that are open. */
  boundaries: unknown[]
  currentNode: Node
  readLine(): { bytes: Uint8Array; done: boolean }
}

interface Node {
  state: 'header' | 'body' | 'finished'
  contentDecoder: BodyDecoder | null
  contentType: { parsed: { params: Record<string, string | undefined> } }
  setupContentDecoder(encoding: string): void
  feed(line: Uint8Array): void
}

interface BodyDecoder {
  update(line: Uint8Array): void
  finalize(): Promise<ArrayBuffer>
}

/**
 * postal-mime, in larger steps. By itself it waits after each line, and keeps each line of a body as a piece of a Blob: more than half of
 * the time that usual mail takes, and minutes for some megabytes of empty lines. Here the lines that can be no delimiter pass by it, and
 * bodies in one piece, up to the next that can. A class, because with a method put on each parser V8 kept every parser and its mail until
 * the whole heap was marked.
 */
class LargeStepParser extends (PostalMime as unknown as new (options: PostalMimeOptions) => Inside & Pick<PostalMime, 'parse'>) {
  override readLine(): { bytes: Uint8Array; done: boolean } {
    for (;;) {
      const node = this.currentNode
      // A node is new with the line that opens its part, and asks for the decoder at the end of its header.
      node.setupContentDecoder = setUpDecoder
      readBody(this, node)
      const line = super.readLine()
      if (line.done || (this.boundaries.length > 0 && isDashed(line.bytes))) return line
      node.feed(line.bytes)
    }
  }
}

export const parseMime = (raw: Buffer, options: PostalMimeOptions): Promise<Email> => new LargeStepParser(options).parse(raw)

const isDashed = (line: Uint8Array) => line[0] === 0x2d && line[1] === 0x2d

/** Hands over what surely belongs to the body: up to a line that may be a delimiter, and never the last one, which ends the parsing. */
function readBody(inside: Inside, { state, contentDecoder }: Node): void {
  const decoder = contentDecoder instanceof TrustingDecoder ? contentDecoder.inner : contentDecoder
  if (state !== 'body' || !(decoder instanceof LargeDecoder)) return
  const { av, readPos } = inside
  const bytes = Buffer.from(av.buffer, av.byteOffset, av.length)
  const lastLine = bytes.lastIndexOf(0x0a, bytes.length - 2) + 1
  // From the line end before, because the very next line may be one.
  const dashed = inside.boundaries.length > 0 ? bytes.indexOf('\n--', readPos - 1) : -1
  const end = dashed < 0 ? lastLine : Math.min(dashed + 1, lastLine)
  if (end <= readPos) return
  decoder.take(bytes.subarray(readPos, end))
  inside.readPos = end
}

const original = (Object.getPrototypeOf((new PostalMime() as unknown as Inside).currentNode) as Node).setupContentDecoder

function setUpDecoder(this: Node, encoding: string): void {
  // Its own for this one does not stumble.
  if (/quoted-printable/i.test(encoding) && !/base64/i.test(encoding)) original.call(this, encoding)
  else this.contentDecoder = new LargeDecoder(/base64/i.test(encoding) ? fromBase64 : withPlainLineEnds)
  if (/^\s*(?:us-)?ascii\s*$/i.test(this.contentType.parsed.params.charset ?? ''))
    this.contentDecoder = new TrustingDecoder(this, this.contentDecoder as BodyDecoder) // just set up
}

/** Programs that know nothing of alphabets say US-ASCII of whatever they send. The letters say it better when they are UTF-8. */
class TrustingDecoder implements BodyDecoder {
  readonly inner: BodyDecoder
  readonly #node: Node

  constructor(node: Node, inner: BodyDecoder) {
    this.#node = node
    this.inner = inner
  }

  update(line: Uint8Array): void {
    this.inner.update(line)
  }

  async finalize(): Promise<ArrayBuffer> {
    const content = await this.inner.finalize()
    if (isUtf8(new Uint8Array(content))) this.#node.contentType.parsed.params.charset = 'utf-8'
    return content
  }
}

class LargeDecoder implements BodyDecoder {
  readonly #decode: (body: Buffer) => Buffer
  #pieces: Buffer[] = []

  constructor(decode: (body: Buffer) => Buffer) {
    this.#decode = decode
  }

  /** One line, without its end. */
  update(line: Uint8Array): void {
    this.#pieces.push(Buffer.from(line.buffer, line.byteOffset, line.length), lineEnd)
  }

  /** Whole lines with their ends. */
  take(lines: Buffer): void {
    this.#pieces.push(lines)
  }

  async finalize(): Promise<ArrayBuffer> {
    const content = this.#decode(Buffer.concat(this.#pieces))
    this.#pieces = []
    if (content.length === content.buffer.byteLength) return content.buffer as ArrayBuffer
    return content.buffer.slice(content.byteOffset, content.byteOffset + content.length) as ArrayBuffer
  }
}

const lineEnd = Buffer.from('\n')

function withPlainLineEnds(body: Buffer): Buffer {
  if (!body.includes(0x0d)) return body
  const text = body.toString('latin1')
  return Buffer.from(text.includes('\r\r\n') ? text.replace(/\r+\n/g, '\n') : text.replaceAll('\r\n', '\n'), 'latin1')
}

/** Some programs pad each line: what follows a "=" begins anew. One buffer for all, since it may be one after each letter. */
function fromBase64(body: Buffer): Buffer {
  // Node takes these two for "+" and "/" (RFC 4648 section 5); in mail they are junk, such as a delimiter that is none.
  const text = body.toString('latin1').replace(/[-_]+/g, '')
  const padding = text.indexOf('=')
  if (padding < 0 || /^[=\s]*$/.test(text.slice(padding))) return Buffer.from(text, 'base64')
  const decoded = Buffer.allocUnsafe(text.length)
  let length = 0
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('=', start)
    length += decoded.write(text.slice(start, end < 0 ? text.length : end), length, 'base64')
    start = end < 0 ? text.length : end + 1
  }
  return decoded.subarray(0, length)
}
