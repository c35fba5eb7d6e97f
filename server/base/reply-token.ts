import { timingSafeEqual } from 'node:crypto'
import type { Secrets } from './secrets.ts'
import { formatUuid, parseUuid } from './uuid.ts'

/**
 * What stands in `reply+…@`, the address through which the owner of a proxy mailbox answers somebody outside: the id of the row that knows
 * who that is, and 80 bits of HMAC-SHA-256, in hexadecimal, because mail servers may change the case. 52 letters, which leaves room for
 * the prefix in a local part of 64.
 */
const idBytes = 16
const signatureBytes = 10
const form = /^[\da-f]{52}$/i

const signatureOf = (secrets: Secrets, id: Buffer): Buffer => secrets.shortSignatures('reply', id).subarray(0, signatureBytes)

export function formatReplyToken(secrets: Secrets, id: string): string {
  const bytes = parseUuid(id)
  return Buffer.concat([bytes, signatureOf(secrets, bytes)]).toString('hex')
}

/** The id, or null for anything that was not made here. */
export function parseReplyToken(secrets: Secrets, token: string): string | null {
  if (!form.test(token)) return null
  const bytes = Buffer.from(token, 'hex')
  const id = bytes.subarray(0, idBytes)
  return timingSafeEqual(bytes.subarray(idBytes), signatureOf(secrets, id)) ? formatUuid(id) : null
}
