import { catalogue, type EventType, eventTypes } from '../events/catalogue.ts'
import { Envelope } from '../events/envelope.ts'
import { exampleOf } from './openapi-example.ts'
import { type Json, toJsonSchema } from './openapi-schema.ts'

/** What a webhook is sent, for each event: the same envelope, and data of its own. Streams send the same. */
export function webhooksOf(components: Json): Record<string, Json> {
  return Object.fromEntries(eventTypes.map((type) => [type, describe(type, components)]))
}

function describe(type: EventType, components: Json): Json {
  const schema = envelopeSchema(type, components)
  const { when } = catalogue[type]
  return {
    post: {
      operationId: `on${type.replaceAll(/(?:^|[._])(\w)/g, (_all, letter: string) => letter.toUpperCase())}`,
      tags: ['webhooks'],
      summary: `${when.charAt(0).toUpperCase()}${when.slice(1)}`,
      description: `Sent to webhooks that listen to \`${type}\`: ${when}.`,
      security: [],
      parameters: Object.keys(webhookParameters).map((name) => ({ $ref: `#/components/parameters/${name}` })),
      requestBody: { required: true, content: { 'application/json': { schema, example: eventExample(type, components) } } },
      responses: {
        '2XX': { description: 'Any 2xx within 10 seconds says that you have it' },
        410: { description: 'You want no more: the webhook is disabled at once' },
        default: { description: 'Anything else, a redirect too, is a failed attempt, and is tried again later' },
      },
    },
  }
}

function envelopeSchema(type: EventType, components: Json): Json {
  const { id, created_at } = Envelope.shape
  return {
    type: 'object',
    required: ['id', 'type', 'created_at', 'data'],
    properties: {
      id: toJsonSchema(id, components),
      type: { type: 'string', const: type },
      created_at: toJsonSchema(created_at, components),
      data: toJsonSchema(catalogue[type].data, components),
    },
  }
}

/** The body of a webhook for this event, made from its schema: the same each time. */
export const eventExample = (type: EventType, components: Json = {}): Json =>
  exampleOf(envelopeSchema(type, components), components) as Json

const header = (name: string, description: string, example: string): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
})

export const webhookParameters = {
  ServiceEvent: header('X-Service-Event', 'The type of the event', 'post.sent'),
  ServiceSignature: header(
    'X-Service-Signature',
    'Lowercase hex HMAC-SHA256 of the raw body; the key is the whole secret, with its `whsec_`',
    '4f0b3d6b1f3cb9f0f5a4f3a4b1f6d27a2b7e6fb2d0c9c1f6c3b5b8c2f1a9d0e7',
  ),
  ServiceDeliveryId: header(
    'X-Service-Delivery-Id',
    'The id of this delivery, the same for each of its attempts',
    'whd_01kb0zq3nhe5etqg8m1x5c7vwa',
  ),
  WebhookId: header('webhook-id', 'Standard Webhooks: the id of the event, the same for each attempt', 'evt_01kb0zq3nhe5etqg8m1x5c7vwa'),
  WebhookTimestamp: header('webhook-timestamp', 'Standard Webhooks: Unix seconds of this attempt', '1763197200'),
  WebhookSignature: header(
    'webhook-signature',
    'Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`; while a secret is being replaced, two with a blank between them',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
} satisfies Record<string, Json>
