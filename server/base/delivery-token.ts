import { timingSafeEqual } from 'node:crypto'
import type { Secrets } from './secrets.ts'
import { formatUuid, parseUuid } from './uuid.ts'

/**
 * The token of one message to one recipient: in its return path, in `unsubscribe+…@`, and in its unsubscribe, click and open links. Each
 * place has one of its own: whoever is sent a link of somebody's mail can follow it, and neither unsubscribe them nor report a bounce.
 *
 * The narrowest place decides the size. A local part has 64 octets (RFC 5321 section 4.5.3.1.1), `unsubscribe+` takes 12 of them,
 * and mail servers may change the case of the rest, which leaves 52 letters of base32, or 260 bits:
 *
 *     4 bits   which table the id is of, and the version of this form
 *    64 bits   the last 8 bytes of the project's id, which are its random half (RFC 9562 section 5.7)
 *   128 bits   the id of the delivery, the single mail or the message
 *    64 bits   HMAC-SHA-256 of all before, cut: a quarter of it for each purpose
 *
 * Two whole ids would take all the room and leave none for the signature; half of the project's is as good as the whole to find it by.
 */
export interface DeliveryToken {
  kind: DeliveryKind
  /** 8 bytes: see `projectTail`. */
  project_tail: Buffer
  id: string
}

/** A recipient of a broadcast (`deliveries`), a single mail (`emails`), or one that the program itself wrote (`messages`). */
export type DeliveryKind = keyof typeof tags

const tags = { delivery: 1, email: 2, message: 3 } as const
const kinds = new Map(Object.entries(tags).map(([kind, tag]) => [tag as number, kind as DeliveryKind]))

/** In this order the HMAC is shared out. */
const purposes = ['click', 'open', 'unsubscribe', 'return_path'] as const
export type DeliveryPurpose = (typeof purposes)[number]
/** All those of one message. */
export type DeliveryTokens = Record<DeliveryPurpose, string>

const tailBytes = 8
const payloadBytes = 1 + tailBytes + 16
const signatureBytes = 8

/** Without i, l, o and u, like the ids of the API. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const pairs = [...alphabet].flatMap((first) => [...alphabet].map((second) => first + second))
const valueOfLetter = new Map([...alphabet].map((letter, value) => [letter, value]))
const tokenForm = /^[0-9a-hjkmnp-tv-z]{52}$/i

export const projectTail = (projectId: string): Buffer => parseUuid(projectId).subarray(-tailBytes)

interface AboutDelivery {
  kind: DeliveryKind
  project_id: string
  id: string
}

export const formatDeliveryToken = (secrets: Secrets, purpose: DeliveryPurpose, about: AboutDelivery): string =>
  formatDeliveryTokens(secrets, about)[purpose]

/** Every message of a broadcast needs them, so they cost one HMAC together, and have their first letters in common. */
export function formatDeliveryTokens(secrets: Secrets, { kind, project_id, id }: AboutDelivery): DeliveryTokens {
  const bytes = Buffer.concat([Buffer.of(tags[kind]), projectTail(project_id), parseUuid(id)], payloadBytes + signatureBytes)
  const signatures = secrets.shortSignatures('delivery', bytes.subarray(0, payloadBytes))
  const beginning = lettersOf(bytes, 0, groupsOfPayload)
  const tokenFor = (purpose: DeliveryPurpose): string => {
    bytes.set(signatureFor(purpose, signatures), payloadBytes)
    return beginning + lettersOf(bytes, groupsOfPayload, groups)
  }
  return {
    click: tokenFor('click'),
    open: tokenFor('open'),
    unsubscribe: tokenFor('unsubscribe'),
    return_path: tokenFor('return_path'),
  }
}

function signatureFor(purpose: DeliveryPurpose, signatures: Buffer): Buffer {
  const begin = purposes.indexOf(purpose) * signatureBytes
  return signatures.subarray(begin, begin + signatureBytes)
}

/** What the token names, or null for anything that was not made here, or for another purpose. Upper and lower case are the same. */
export function parseDeliveryToken(
  secrets: Secrets,
  purpose: DeliveryPurpose | readonly DeliveryPurpose[],
  token: string,
): DeliveryToken | null {
  if (!isDeliveryTokenForm(token)) return null
  const bytes = Buffer.from(`0${digitsOf(token.toLowerCase())}`, 'hex')
  const payload = bytes.subarray(0, payloadBytes)
  const kind = kinds.get(payload[0] as number)
  if (!kind) return null
  const signatures = secrets.shortSignatures('delivery', payload)
  const isGenuine = [purpose].flat().some((one) => timingSafeEqual(bytes.subarray(payloadBytes), signatureFor(one, signatures)))
  if (!isGenuine) return null
  return { kind, project_tail: payload.subarray(1, 1 + tailBytes), id: formatUuid(payload.subarray(1 + tailBytes)) }
}

/** Whether it could be one: the signature is not looked at. */
export const isDeliveryTokenForm = (text: string): boolean => tokenForm.test(text)

/** The kind is one hexadecimal digit, so that the whole is 65 of them: 13 groups of five digits, each four letters. */
const groups = 13
/** So many of them have nothing of the signature. */
const groupsOfPayload = 9

function lettersOf(bytes: Buffer, from: number, to: number): string {
  let letters = ''
  for (let index = from; index < to; index++) {
    // Behind the upper half of the first byte, which is always 0: every second group begins in the middle of a byte.
    const digit = 1 + index * 5
    const group = digit % 2 === 1 ? bytes.readUIntBE((digit - 1) / 2, 3) & 0xfffff : bytes.readUIntBE(digit / 2, 3) >> 4
    letters += `${pairs[group >> 10]}${pairs[group & 1023]}`
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
