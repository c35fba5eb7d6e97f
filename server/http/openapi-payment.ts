import { priceText } from '../base/plans.ts'

/** What the description says of operations that may be paid for and repeated (draft-payment-discovery-00). */
type Json = Record<string, unknown>

export const payableParameters: Json[] = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'One key, one effect, for 24 hours: a repeat answers 200 with what the first request made.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  },
  {
    name: 'Payment-Authorization',
    in: 'header',
    required: false,
    description:
      'Pays for e-mails over the plan: `Payment …`, the credential for the challenge in `WWW-Authenticate` of a 402. Works once.',
    schema: { type: 'string' },
  },
]

export const payableHeaders: Json = {
  'Payment-Receipt': { description: 'What was paid for with this request: base64url JSON', schema: { type: 'string' } },
}

/** Advisory: what counts is the challenge. */
export const paymentInfo: Json = {
  offers: [{ method: 'stripe', intent: 'charge', currency: 'usd', amount: null, description: `Over the plan: ${priceText}` }],
}

const text = { type: 'string' }

export const paymentProblemSchema: Json = {
  type: 'object',
  description: 'RFC 9457, and the error that every other refusal has. Without payments on this installation, only `error` is there.',
  required: ['error'],
  properties: {
    ...{ type: text, title: text, status: { type: 'integer' }, detail: text, challengeId: text },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { enum: ['limit_exceeded', 'spending_cap_reached'] },
        message: text,
        upgrade_url: text,
        enable_overage_url: text,
        payment: {
          type: 'object',
          properties: {
            ...{ method: text, intent: text, currency: text, description: text, challenge_id: text },
            amount: { type: 'integer', description: 'Cents' },
            emails: { type: 'integer' },
          },
        },
      },
    },
  },
}

export const paymentRequired = (headers: Json): Json => ({
  description: 'The plan is used up (`limit_exceeded`), or the cap on overage is (`spending_cap_reached`)',
  headers: {
    ...headers,
    'WWW-Authenticate': { description: 'A challenge of the scheme Payment, for exactly this request', schema: { type: 'string' } },
  },
  content: {
    'application/problem+json': { schema: { $ref: '#/components/schemas/PaymentProblem' } },
    'application/json': { schema: { $ref: '#/components/schemas/Error' } },
  },
})
