import { createHash } from 'node:crypto'
import type { CompiledParts } from './compile-post.ts'
import { type Allocate, type BodyPiece, type FilledPost, fillBody, layOutBody } from './fill.ts'
import { type Fixed, type OpenPart, openPart, type Recipient, tokenText } from './part.ts'
import { composeHeaders } from './post-headers.ts'
import type { PostFrame, PostSource } from './post-source.ts'

/** A compiled post, ready to be filled. */
export interface CompiledPost {
  /** Distinct http(s) addresses in the order of their first link; the click URL's {link} is an index into it. */
  links: string[]
  /** Liquid runs for each recipient: dearer than filling slots. */
  needs_logic: boolean
  fill(recipient: Recipient, allocate?: Allocate): FilledPost
  /** The envelope sender (VERP) of this recipient's copy. */
  returnPath(recipient: Pick<Recipient, 'tokens'>): string
}

/** Takes time that grows with the length of the post and with nothing else that its author may choose. */
export function openPost(parts: CompiledParts, source: PostSource, frame: PostFrame): CompiledPost {
  const fixed = fixedOf(frame)
  const subject = openPart(parts.subject, source)
  const html = parts.html && openPart(parts.html, source)
  const text = openPart(parts.text, source)
  const boundary = boundaryOf(source, frame)
  const headers = composeHeaders(frame, subject, fixed, html ? `multipart/alternative;\r\n boundary="${boundary}"` : null)
  const body = layOutBody(bodyPieces({ text, html }, boundary, fixed))
  const [before, after] = tokenText(frame.mail.return_path)
  return {
    links: parts.links,
    needs_logic: [subject, text, html].some((part) => part?.kind === 'logic'),
    fill(recipient, allocate) {
      refuseOddTokens(recipient)
      return fillBody(body, headers(recipient), recipient, allocate)
    },
    returnPath: ({ tokens }) => `${before}${tokens.return_path}${after}`,
  }
}

const isToken = /^[\w.~-]{1,200}$/

function refuseOddTokens({ tokens }: Recipient): void {
  for (const token of [tokens.click, tokens.open, tokens.unsubscribe, tokens.return_path])
    if (!isToken.test(token)) throw new Error(`${JSON.stringify(token)} is not a token that can stand in a link`)
}

export const fixedOf = (frame: PostFrame): Fixed => ({
  unsubscribe: tokenText(frame.urls.unsubscribe),
  preferences: tokenText(frame.urls.preferences ?? frame.urls.unsubscribe),
  list_name: frame.list.name,
  postal_address: frame.postal_address ?? '',
})

const partFields = (type: string): string => `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`

function bodyPieces({ text, html }: { text: OpenPart; html: OpenPart | null }, boundary: string, fixed: Fixed): BodyPiece[] {
  if (!html) return [{ part: text, fixed }]
  return [
    `--${boundary}\r\n${partFields('text/plain')}`,
    { part: text, fixed },
    `\r\n--${boundary}\r\n${partFields('text/html')}`,
    { part: html, fixed },
    `\r\n--${boundary}--\r\n`,
  ]
}

/** "=_" cannot occur in quoted-printable (RFC 2045 section 6.7), so no body can hold it. */
const boundaryOf = (source: PostSource, frame: PostFrame): string =>
  `=_${createHash('sha256')
    .update(JSON.stringify([source, frame.feedback_id]))
    .digest('base64url')
    .slice(0, 24)}`
