import { createHash } from 'node:crypto'
import type { Services } from '../../operations/context.ts'
import { askStripe } from './stripe.ts'
import type { GoodCredential } from './verify-credential.ts'

export type Charged =
  | { outcome: 'paid'; reference: string }
  | { outcome: 'declined'; reason: string }
  | { outcome: 'action_required' }
  /** Nobody knows whether the card was charged; the same credential may be sent again. */
  | { outcome: 'unknown' }

/** Takes the money for a claimed challenge. Asked twice, it is taken once. */
export async function charge(services: Pick<Services, 'config' | 'log'>, credential: GoodCredential): Promise<Charged> {
  return services.config.PAYMENTS === 'sandbox' ? chargeSandbox(credential) : chargeStripe(services, credential)
}

const keyOf = ({ challenge, spt }: GoodCredential): string => `mpp_${challenge.id}_${spt}`

/** Charges nothing. The end of the token says what happens: `spt_declined`, `spt_action`, `spt_timeout`; any other is good. */
function chargeSandbox(credential: GoodCredential): Charged {
  if (/declined$/i.test(credential.spt)) return { outcome: 'declined', reason: 'card_declined' }
  if (/action$/i.test(credential.spt)) return { outcome: 'action_required' }
  // The answer is lost once; whoever asks again gets it.
  if (/timeout$/i.test(credential.spt) && credential.challenge.status === 'open') return { outcome: 'unknown' }
  return { outcome: 'paid', reference: `pi_sandbox_${createHash('sha256').update(keyOf(credential)).digest('hex').slice(0, 24)}` }
}

async function chargeStripe(services: Pick<Services, 'config' | 'log'>, credential: GoodCredential): Promise<Charged> {
  const { challenge, spt, externalId } = credential
  const answer = await askStripe(services, {
    method: 'POST',
    path: '/v1/payment_intents',
    idempotencyKey: keyOf(credential),
    // All of it follows from the challenge: Stripe refuses a repeat that differs.
    form: {
      amount: String(challenge.amount_cents),
      currency: 'usd',
      confirm: 'true',
      'automatic_payment_methods[enabled]': 'true',
      'automatic_payment_methods[allow_redirects]': 'never',
      [services.config.STRIPE_TOKEN_PARAMETER]: spt,
      'metadata[project_id]': challenge.project_id,
      'metadata[challenge_id]': challenge.id,
      'metadata[external_id]': externalId,
      'metadata[emails]': String(challenge.emails),
    },
  })
  if (answer.kind === 'unknown') return { outcome: 'unknown' }
  if (answer.kind === 'refused') return { outcome: 'declined', reason: answer.code }
  // Under the same key Stripe says again what it said first; how a slow payment ended, only a look at it tells.
  const intent = answer.body.status === 'processing' ? await lookAgain(services, String(answer.body.id)) : answer.body
  if (intent.status === 'succeeded') return { outcome: 'paid', reference: String(intent.id) }
  if (intent.status === 'requires_action') return { outcome: 'action_required' }
  return intent.status === 'processing' ? { outcome: 'unknown' } : { outcome: 'declined', reason: String(intent.status) }
}

async function lookAgain(services: Pick<Services, 'config' | 'log'>, id: string): Promise<Record<string, unknown>> {
  const answer = await askStripe(services, { method: 'GET', path: `/v1/payment_intents/${id}` })
  return answer.kind === 'done' ? answer.body : { id, status: 'processing' }
}

/** The payment that was taken for a challenge, if one was; `unknown` when that cannot be found out now. */
export async function findPayment(services: Pick<Services, 'config' | 'log'>, challenge_id: string): Promise<string | null | 'unknown'> {
  if (services.config.PAYMENTS !== 'stripe') return null
  const query = encodeURIComponent(`status:'succeeded' AND metadata['challenge_id']:'${challenge_id}'`)
  const answer = await askStripe(services, { method: 'GET', path: `/v1/payment_intents/search?query=${query}` })
  if (answer.kind !== 'done') return 'unknown'
  return (answer.body.data as { id: string }[])[0]?.id ?? null
}
