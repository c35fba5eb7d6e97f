import { z } from 'zod'
import type { KeyId, MailboxId, ProjectId, UserId } from '../../base/ids.ts'

/**
 * The Payment scheme of HTTP (draft-httpauth-payment-01) with the method stripe (draft-stripe-charge-00): a 402 carries a challenge, the
 * client pays for it and sends the same request again with a credential, and the answer carries a receipt.
 *
 * A challenge is open, then charging while the card processor is asked, then paid, once. It is closed when the card was declined, or
 * when there was room again and nothing had to be paid. A crash in the middle leaves it charging: only the same credential may go on,
 * and the card processor knows it by its idempotency key, so it is not charged twice.
 */
export type ChallengeStatus = 'open' | 'charging' | 'paid' | 'closed'

export interface ChallengeRow {
  project_id: ProjectId
  id: string
  key_id: KeyId | null
  user_id: UserId
  /** The agent's own, when it was asked to pay without having the scope to send. */
  mailbox_id: MailboxId | null
  operation: string
  target: string
  emails: number
  amount_cents: number
  body_digest: string
  status: ChallengeStatus
  token_hash: Buffer | null
  reference: string | null
  created_at: Date
  expires_at: Date
}

/** What is paid for: so many e-mails of one operation on one thing. */
export interface Purchase {
  operation: string
  target: string
  count: number
}

export const challengeLastsMs = 10 * 60_000
/** The card processor remembers an idempotency key for a day; a little less is safe. */
export const retryLastsMs = 23 * 3_600_000

export const problems = {
  'payment-required': 'Payment Required',
  'payment-insufficient': 'Payment Insufficient',
  'payment-expired': 'Payment Expired',
  'verification-failed': 'Verification Failed',
  'malformed-credential': 'Malformed Credential',
  'invalid-challenge': 'Invalid Challenge',
  'invalid-payload': 'Invalid Payload',
  'payment-action-required': 'Payment Action Required',
  'internal-payment-error': 'Internal Payment Error',
} as const
export type ProblemName = keyof typeof problems

export const problemOf = (name: ProblemName, challengeId?: string) => ({
  type: `https://paymentauth.org/problems/${name}`,
  title: problems[name],
  ...(challengeId === undefined ? {} : { challengeId }),
})

/** What a challenge says, in the words of the header. */
export interface ChallengeParams {
  id: string
  realm: string
  method: string
  intent: string
  request: string
  description?: string | undefined
  digest?: string | undefined
  expires?: string | undefined
  opaque?: string | undefined
  header?: string | undefined
}

/** What the id is the HMAC of: seven places, empty when absent, and an eighth only when a header is named. */
export const boundText = (params: Omit<ChallengeParams, 'id'>): string =>
  [
    ...[params.realm, params.method, params.intent, params.request, params.expires ?? '', params.digest ?? '', params.opaque ?? ''],
    ...(params.header === undefined ? [] : [params.header]),
  ].join('|')

export const formatChallenge = (params: ChallengeParams): string =>
  `Payment ${Object.entries(params)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${String(value).replaceAll(/["\\]/g, '\\$&')}"`)
    .join(', ')}`

/** RFC 8785, for what a challenge holds: text, lists and objects. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}

export const encode = (text: string): string => Buffer.from(text).toString('base64url')

const short = z.string().max(4096)
export const Credential = z.object({
  challenge: z.object({
    id: short,
    realm: short,
    method: short,
    intent: short,
    request: short,
    description: short.optional(),
    digest: short.optional(),
    expires: short.optional(),
    opaque: short.optional(),
    header: short.optional(),
  }),
  source: z.unknown().optional(),
  payload: z.unknown().optional(),
})
export type Credential = z.output<typeof Credential>

export const Payload = z.object({ spt: z.string().regex(/^spt_[\w-]{1,150}$/), externalId: short.optional() })

/** The credential in the header, or null for what is none. */
export function parseCredential(text: string): Credential | null {
  try {
    return Credential.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  } catch {
    return null
  }
}

export const formatReceipt = (receipt: { reference: string; timestamp: Date; externalId: string | undefined }): string =>
  encode(JSON.stringify({ method: 'stripe', status: 'success', ...receipt, timestamp: receipt.timestamp.toISOString() }))
