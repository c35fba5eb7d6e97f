import { randomFillSync } from 'node:crypto'
import { z } from 'zod'

/**
 * Ids are TypeIDs: a UUIDv7 in the database (16 bytes, ordered by time), a prefix and 26 base32 letters on the wire
 * (`lst_01jd…`). Inside the program an id is the UUID, branded by its prefix, so that a list id cannot be passed for a post id;
 * `idOf('lst')` turns one form into the other at the edge.
 */
export type Id<Prefix extends IdPrefix> = string & { readonly idPrefix: Prefix }

export type IdPrefix =
  | 'usr'
  | 'prj'
  | 'key'
  | 'ses'
  | 'inv'
  | 'app'
  | 'reg'
  | 'lst'
  | 'sub'
  | 'con'
  | 'mbx'
  | 'post'
  | 'brd'
  | 'dlv'
  | 'evt'
  | 'msg'
  | 'grp'
  | 'eml'
  | 'cal'
  | 'thr'
  | 'whk'
  | 'whd'

export type UserId = Id<'usr'>
export type ProjectId = Id<'prj'>
export type KeyId = Id<'key'>
export type SessionId = Id<'ses'>
export type InviteId = Id<'inv'>
export type AppId = Id<'app'>
export type RegistrationId = Id<'reg'>
export type EmailId = Id<'eml'>
export type ThreadId = Id<'thr'>
export type ListId = Id<'lst'>
export type SubscriberId = Id<'sub'>
export type ContactId = Id<'con'>
export type MailboxId = Id<'mbx'>
export type PostId = Id<'post'>
export type BroadcastId = Id<'brd'>
export type DeliveryId = Id<'dlv'>
export type EventId = Id<'evt'>
export type MessageId = Id<'msg'>
export type WebhookId = Id<'whk'>
export type WebhookDeliveryId = Id<'whd'>

/** Random bytes are drawn 512 ids at a time: one system call per id would dominate a million-row import. */
const pool = Buffer.alloc(8 * 512)
let poolOffset = pool.length
let lastMs = 0
let sequence = 0

/** UUIDv7 with the 12 bits after the time used as a counter (RFC 9562, method 1), so that ids of one process never go backwards. */
export function newId<Prefix extends IdPrefix>(): Id<Prefix> {
  const now = Date.now()
  if (now > lastMs) {
    lastMs = now
    sequence = 0
  } else if (++sequence > 0xfff) {
    lastMs++
    sequence = 0
  }
  if (poolOffset === pool.length) {
    randomFillSync(pool)
    poolOffset = 0
  }
  const time = lastMs.toString(16).padStart(12, '0')
  const high = ((pool.readUInt16BE(poolOffset) & 0x3fff) | 0x8000).toString(16)
  const low = pool.toString('hex', poolOffset + 2, poolOffset + 8)
  poolOffset += 8
  const counter = (0x7000 | sequence).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-${counter}-${high}-${low}` as Id<Prefix>
}

/** No id that was made since then is smaller. */
export const lowestIdSince = (time: Date): string => {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const valueOfLetter = new Int8Array(128).fill(-1)
for (let index = 0; index < 32; index++) valueOfLetter[alphabet.charCodeAt(index)] = index

/** Two letters for each ten bits: fewer, longer pieces make the text twice as quickly, and it is made for each id that anybody reads. */
const pairs = Array.from({ length: 1024 }, (_, bits) => `${alphabet[bits >> 5]}${alphabet[bits & 31]}`)
const valueOfHex = new Uint8Array(128)
for (let value = 0; value < 16; value++) {
  valueOfHex['0123456789abcdef'.charCodeAt(value)] = value
  valueOfHex['0123456789ABCDEF'.charCodeAt(value)] = value
}

export function formatId(prefix: IdPrefix, uuid: string): string {
  const hex = uuid.replaceAll('-', '')
  // 26 letters are 130 bits, so that the first two hold one byte; then five digits are four letters.
  let text = `${prefix}_${pairs[(digitAt(hex, 0) << 4) | digitAt(hex, 1)]}`
  for (let place = 2; place < 32; place += 5) text += lettersAt(hex, place)
  return text
}

const digitAt = (hex: string, place: number): number => valueOfHex[hex.charCodeAt(place)] as number

function lettersAt(hex: string, place: number): string {
  let bits = 0
  for (let at = place; at < place + 5; at++) bits = (bits << 4) | digitAt(hex, at)
  return (pairs[bits >> 10] as string) + pairs[bits & 1023]
}

/** The UUID behind `lst_…`, or null when the text is not an id of that kind. */
export function parseId<Prefix extends IdPrefix>(prefix: Prefix, text: string): Id<Prefix> | null {
  if (text.length !== prefix.length + 27 || !text.startsWith(`${prefix}_`)) return null
  let number = 0n
  for (let index = prefix.length + 1; index < text.length; index++) {
    const value = valueOfLetter[text.charCodeAt(index)] ?? -1
    if (value < 0) return null
    number = (number << 5n) | BigInt(value)
  }
  if (number >> 128n) return null
  const hex = number.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as Id<Prefix>
}

/** The schema of an id: text on the wire, a branded UUID inside. */
export const idOf = <Prefix extends IdPrefix>(prefix: Prefix) =>
  z.codec(z.string().regex(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`)), z.custom<Id<Prefix>>(), {
    decode: (text) => parseId(prefix, text) as Id<Prefix>,
    encode: (uuid) => formatId(prefix, uuid),
  })
