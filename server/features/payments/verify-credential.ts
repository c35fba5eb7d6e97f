import { timingSafeEqual } from 'node:crypto'
import { hashOfSecret } from '../../base/secrets.ts'
import type { Context, Services } from '../../operations/context.ts'
import { challengeIdOf, externalIdOf, ourWords } from './challenge.ts'
import {
  type ChallengeParams,
  type ChallengeRow,
  Payload,
  type ProblemName,
  type Purchase,
  parseCredential,
  retryLastsMs,
} from './payment.ts'
import { findChallenge } from './payment-queries.ts'

export interface GoodCredential {
  challenge: ChallengeRow
  spt: string
  token_hash: Buffer
  externalId: string
}

export interface BadCredential {
  problem: ProblemName
  detail: string
}

const bad = (problem: ProblemName, detail: string): BadCredential => ({ problem, detail })
const notOurs = bad('invalid-challenge', 'This challenge was not issued here, or was altered. Pay for the one in this answer.')
const spent = bad('invalid-challenge', 'This challenge has been used already. Pay for the one in this answer if you want to send more.')
const expired = bad('payment-expired', 'This challenge has expired. Pay for the one in this answer.')

/** Everything about a credential that does not need the price: is it ours, for this request, in time and unused. */
export async function verifyCredential(context: Context, purchase: Purchase, text: string): Promise<GoodCredential | BadCredential> {
  const credential = parseCredential(text)
  if (!credential)
    return bad(
      'malformed-credential',
      'The credential is not base64url JSON with challenge and payload. Pay for the challenge in this answer.',
    )
  if (!isOurs(context, credential.challenge)) return notOurs
  const externalId = externalIdOf(credential.challenge)
  if (externalId === null) return notOurs
  const challenge = await findChallenge(context.database, context.caller.project_id, credential.challenge.id)
  if (!challenge) return notOurs
  const payload = Payload.safeParse(credential.payload)
  if (!payload.success) return bad('invalid-payload', 'The payload needs "spt", a payment token that begins with spt_.')
  if (!isFor(challenge, purchase, context.request.bodyDigest()))
    return bad('invalid-challenge', 'This challenge was issued for another request. Pay for the one in this answer.')
  const { spt } = payload.data
  const token_hash = hashOfSecret(spt)
  const problem = stateProblem(challenge, token_hash, context.clock.now())
  return problem ?? { challenge, spt, token_hash, externalId }
}

/**
 * Says what ours say, and nothing that could be read in two ways: the HMAC is over the values with a | between them. Compared in constant
 * time: how far a guess was right is nobody's business.
 */
export function isOurs(services: Pick<Services, 'secrets' | 'config'>, { id, description: _, ...params }: ChallengeParams): boolean {
  if (Object.entries(ourWords(services.config)).some(([name, word]) => params[name as keyof typeof params] !== word)) return false
  if (Object.values(params).some((value) => value?.includes('|'))) return false
  const given = Buffer.from(id, 'base64url')
  const right = challengeIdOf(services, params)
  return given.length === right.length && timingSafeEqual(given, right) && given.toString('base64url') === id
}

const isFor = (challenge: ChallengeRow, { operation, target }: Purchase, digest: string): boolean =>
  challenge.operation === operation && challenge.target === target && challenge.body_digest === digest

function stateProblem(challenge: ChallengeRow, token_hash: Buffer, now: Date): BadCredential | null {
  switch (challenge.status) {
    case 'paid':
    case 'closed':
      return spent
    case 'open':
      return challenge.expires_at <= now ? expired : null
    case 'charging':
      if (!challenge.token_hash?.equals(token_hash))
        return bad(
          'invalid-challenge',
          'This challenge is being paid for with another token. Send that one again, or pay for the one in this answer.',
        )
      return now.getTime() - challenge.created_at.getTime() > retryLastsMs ? expired : null
  }
}
