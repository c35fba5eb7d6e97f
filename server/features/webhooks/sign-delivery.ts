import { createHmac } from 'node:crypto'
import { type EventId, formatId, type WebhookDeliveryId } from '../../base/ids.ts'
import type { Secrets } from '../../base/secrets.ts'
import type { WebhookRow } from './webhook.ts'

/** The secrets of a webhook as they sign: the present one, and the one before while it still counts. */
export interface SigningSecrets {
  secret: string
  previous: { secret: string; until: Date } | null
}

type Sealed = Pick<WebhookRow, 'id' | 'secret' | 'previous_secret' | 'previous_until'>

export const sealSecret = (secrets: Secrets, id: WebhookRow['id'], secret: string): Buffer => secrets.seal('webhook', id, secret)

/**
 * Opening takes a decryption each: whoever signs many keeps the answer as long as the row says the same. Throws when the present secret cannot
 * be read. One from before is then left out: a rotation mends the webhook.
 */
export function openSecrets(secrets: Secrets, { id, secret, previous_secret, previous_until }: Sealed): SigningSecrets {
  const previous = previous_secret && openOrNull(secrets, id, previous_secret)
  return {
    secret: secrets.open('webhook', id, secret),
    previous: previous && previous_until ? { secret: previous, until: previous_until } : null,
  }
}

export function openOrNull(secrets: Secrets, id: WebhookRow['id'], sealed: Buffer): string | null {
  try {
    return secrets.open('webhook', id, sealed)
  } catch {
    return null
  }
}

export interface Signed {
  signing: SigningSecrets
  delivery_id: WebhookDeliveryId
  event_id: EventId
  type: string
  /** The bytes that go out: a signature is of these and of nothing else. */
  body: string | Buffer
  now: Date
}

/**
 * The headers of one attempt, in two dialects. `X-Service-*` is the API's own: its key is the secret as text, `whsec_` and all.
 * `webhook-*` is Standard Webhooks 1.0: its key is what the base64 after `whsec_` stands for, the time is signed as well, and for a day
 * after a rotation there are two signatures.
 */
export function headersOf({ signing, body, now, ...about }: Signed): Record<string, string> {
  const unsigned = unsignedHeaders({ ...about, now })
  const standard = (secret: string) =>
    `v1,${standardSignature(secret, `${unsigned['webhook-id']}.${unsigned['webhook-timestamp']}.`, body)}`
  const { secret, previous } = signing
  return {
    ...unsigned,
    'X-Service-Signature': createHmac('sha256', secret).update(body).digest('hex'),
    'webhook-signature': previous && now < previous.until ? `${standard(secret)} ${standard(previous.secret)}` : standard(secret),
  }
}

/** What may be shown to whoever reads the log: with a signature one could pass for us. */
export const unsignedHeaders = ({ delivery_id, event_id, type, now }: Pick<Signed, 'delivery_id' | 'event_id' | 'type' | 'now'>) => ({
  'Content-Type': 'application/json',
  'User-Agent': 'Posthaste-Webhooks/1.0',
  'X-Service-Event': type,
  'X-Service-Delivery-Id': formatId('whd', delivery_id),
  'webhook-id': formatId('evt', event_id),
  'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
})

const standardSignature = (secret: string, prefix: string, body: string | Buffer): string =>
  createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(prefix)
    .update(body)
    .digest('base64')
