import { timingSafeEqual } from 'node:crypto'
import type { Secrets } from './secrets.ts'
import { formatUuid, parseUuid } from './uuid.ts'

/**
 * The token of one message to one recipient: in its return path, in `unsubscribe+…@`, and in its unsubscribe, click and open links.
 *
 * The narrowest place decides the size. A local part has 64 octets (RFC 5321 section 4.5.3.1.1), `unsubscribe+` takes 12 of them,
 * and mail servers may change the case of the rest, which leaves 52 letters of base32, or 260 bits:
 *
 *     4 bits   which table the id is of, and the version of this form
 *    64 bits   the last 8 bytes of the project's id, which are its random half (RFC 9562 section 5.7)
 *   128 bits   the id of the delivery or of the single mail
 *    64 bits   HMAC-SHA-256 of all before, cut
 *
 * Two whole ids would take all the room and leave none for the signature; half of the project's is as good as the whole to find it by.
 */
export interface DeliveryToken {
  kind: DeliveryKind
  /** 8 bytes: see `projectTail`. */
  project_tail: Buffer
  id: string
}

/** A recipient of a broadcast (`deliveries`), or a single mail (`emails`). */
export type DeliveryKind = keyof typeof tags

const tags = { delivery: 1, email: 2 } as const
const kinds = new Map(Object.entries(tags).map(([kind, tag]) => [tag as number, kind as DeliveryKind]))

const tailBytes = 8
const payloadBytes = 1 + tailBytes + 16

/** Without i, l, o and u, like the ids of the API. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const valueOfLetter = new Map([...alphabet].map((letter, value) => [letter, value]))
const tokenForm = /^[0-9a-hjkmnp-tv-z]{52}$/i

export const projectTail = (projectId: string): Buffer => parseUuid(projectId).subarray(-tailBytes)

export function formatDeliveryToken(secrets: Secrets, about: { kind: DeliveryKind; project_id: string; id: string }): string {
  const payload = Buffer.concat([Buffer.of(tags[about.kind]), projectTail(about.project_id), parseUuid(about.id)])
  const signature = secrets.shortSignature('delivery', payload)
  // The tag is one hexadecimal digit, so that the whole is 65 of them: 13 groups of five digits, each four letters.
  return lettersOf(payload.toString('hex').slice(1) + signature.toString('hex'))
}

/** What the token names, or null for anything that was not made here. Upper and lower case are the same. */
export function parseDeliveryToken(secrets: Secrets, token: string): DeliveryToken | null {
  if (!isDeliveryTokenForm(token)) return null
  const bytes = Buffer.from(`0${digitsOf(token.toLowerCase())}`, 'hex')
  const payload = bytes.subarray(0, payloadBytes)
  const kind = kinds.get(payload[0] as number)
  if (!kind || !timingSafeEqual(bytes.subarray(payloadBytes), secrets.shortSignature('delivery', payload))) return null
  return { kind, project_tail: payload.subarray(1, 1 + tailBytes), id: formatUuid(payload.subarray(1 + tailBytes)) }
}

/** Whether it could be one: the signature is not looked at. */
export const isDeliveryTokenForm = (text: string): boolean => tokenForm.test(text)

function lettersOf(digits: string): string {
  let letters = ''
  for (let offset = 0; offset < digits.length; offset += 5) {
    const group = Number.parseInt(digits.slice(offset, offset + 5), 16)
    letters += `${alphabet[group >> 15]}${alphabet[(group >> 10) & 31]}${alphabet[(group >> 5) & 31]}${alphabet[group & 31]}`
  }
  return letters
}

function digitsOf(letters: string): string {
  let digits = ''
  for (let offset = 0; offset < letters.length; offset += 4) {
    let group = 0
    for (const letter of letters.slice(offset, offset + 4)) group = (group << 5) | (valueOfLetter.get(letter) as number)
    digits += group.toString(16).padStart(5, '0')
  }
  return digits
}
