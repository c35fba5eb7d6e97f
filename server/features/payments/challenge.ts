import { z } from 'zod'
import { newId } from '../../base/ids.ts'
import { priceOf } from '../../base/plans.ts'
import type { Context, Services } from '../../operations/context.ts'
import { ownMailboxOf } from './own-mailbox.ts'
import { boundText, type ChallengeParams, canonicalJson, challengeLastsMs, encode, formatChallenge, type Purchase } from './payment.ts'
import { endOldestChallenges, insertChallenge } from './payment-queries.ts'

/** The one who makes ids: HMAC over all that the challenge says. */
export const challengeIdOf = ({ secrets }: Pick<Services, 'secrets'>, params: Omit<ChallengeParams, 'id'>): Buffer =>
  secrets.mac('payment_challenge', boundText(params))

/** What every challenge of ours says the same. */
export const ourWords = ({ API_URL }: Pick<Services['config'], 'API_URL'>) => ({
  realm: new URL(API_URL).host,
  method: 'stripe',
  intent: 'charge',
  // The bearer key stays in Authorization.
  header: 'Payment-Authorization',
})

export interface Offer {
  header: string
  id: string
  emails: number
  amount_cents: number
}

/** A fresh challenge for this very request: for its key, its operation, its target and the bytes of its body. */
export async function issueChallenge(context: Context, { operation, target }: Purchase, emails: number): Promise<Offer> {
  const { config, clock, caller, request, database } = context
  const amount_cents = priceOf(emails)
  const created_at = clock.now()
  const expires_at = new Date(created_at.getTime() + challengeLastsMs)
  const { header, ...words } = ourWords(config)
  const params = {
    ...words,
    request: encode(canonicalJson(chargeRequest(config, amount_cents))),
    description: `${emails} ${emails === 1 ? 'e-mail' : 'e-mails'} over the plan`,
    digest: request.bodyDigest(),
    expires: expires_at.toISOString(),
    header,
  }
  const id = challengeIdOf(context, params).toString('base64url')
  const { project_id, key_id, user_id } = caller
  await insertChallenge(database, {
    ...{ project_id, id, key_id, user_id, operation, target, emails, amount_cents, created_at, expires_at },
    mailbox_id: ownMailboxOf(caller),
    body_digest: params.digest,
  })
  await endOldestChallenges(database, project_id)
  return { header: formatChallenge({ id, ...params }), id, emails, amount_cents }
}

const chargeRequest = (config: Services['config'], amount_cents: number) => ({
  amount: String(amount_cents),
  currency: 'usd',
  // Makes two challenges of the same moment different ones.
  externalId: newId(),
  methodDetails: {
    networkId: config.PAYMENTS === 'stripe' ? config.STRIPE_PROFILE : 'profile_sandbox',
    paymentMethodTypes: ['card', 'link'],
  },
})

const WithExternalId = z.object({ externalId: z.string() })

/** How the seller knows the payment: echoed in the receipt. Null for a request that is none of ours. */
export function externalIdOf({ request }: Pick<ChallengeParams, 'request'>): string | null {
  try {
    return WithExternalId.parse(JSON.parse(Buffer.from(request, 'base64url').toString())).externalId
  } catch {
    return null
  }
}
