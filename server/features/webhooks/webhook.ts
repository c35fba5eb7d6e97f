import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { type EventId, formatId, idOf, type ProjectId, type WebhookDeliveryId, type WebhookId } from '../../base/ids.ts'
import { type EventType, eventTypes } from '../../events/catalogue.ts'
import { envelopeOf } from '../../events/envelope.ts'
import { limitOf, pageQuery } from '../../operations/page.ts'
import { timestamp } from '../../operations/schemas.ts'

/** `active` and `paused` are set by people, `disabled` by the program: after ten failures in a row, when the endpoint answers 410, or when nothing can be signed for it. */
export const WebhookStatus = z.enum(['active', 'paused', 'disabled'])
export const DeliveryStatus = z.enum(['pending', 'delivered', 'failed'])

export const maxWebhooks = 100
const maxUrlLength = 2_048
/** As much of an answer as is kept for people to look at. */
export const maxSampleBytes = 8_192
/** After a rotation the secret from before signs as well, so that receivers can change over. */
export const overlapHours = 24
/** No event of the catalogue. Queued or sent at once, a test is tried once, and counts neither as a failure nor as a success. */
export const testType = 'webhook.test'

export interface WebhookRow {
  project_id: ProjectId
  id: WebhookId
  url: string
  events: EventType[]
  status: z.output<typeof WebhookStatus>
  /** Sealed: sign-delivery.ts opens it. */
  secret: Buffer
  previous_secret: Buffer | null
  previous_until: Date | null
  consecutive_failures: number
  last_delivered_at: Date | null
  last_failed_at: Date | null
  disabled_at: Date | null
  disabled_reason: string | null
  created_at: Date
  updated_at: Date
}

export interface WebhookDeliveryRow {
  project_id: ProjectId
  webhook_id: WebhookId
  id: WebhookDeliveryId
  /** Null for a test. */
  event_project_id: ProjectId | null
  event_row_id: EventId | null
  item: number
  event_id: EventId
  event_type: EventType | typeof testType
  status: z.output<typeof DeliveryStatus>
  attempt: number
  next_at: Date | null
  attempted_at: Date | null
  http_status: number | null
  duration_ms: number | null
  error: string | null
  response_headers: Record<string, string> | null
  response_body: string | null
  delivered_at: Date | null
  is_replay: boolean
  created_at: Date
}

/** Under this name a webhook says which events it wants (events/interests.ts). */
export const interestOf = ({ project_id, id }: Pick<WebhookRow, 'project_id' | 'id'>) => ({ project_id, consumer: `webhook:${id}` })

export const WebhookParams = z.object({ id: idOf('whk') })
export const WebhookDeliveryParams = z.object({ id: idOf('whk'), deliveryId: idOf('whd') })

const summaryFields = {
  id: idOf('whk'),
  url: z.string(),
  events: z.array(z.string()),
  status: WebhookStatus,
  consecutive_failures: z.int().meta({ description: 'Events in a row that could not be delivered; ten disable the webhook' }),
  last_delivered_at: timestamp.nullable(),
  last_failed_at: timestamp.nullable(),
  created_at: timestamp,
}

export const WebhookSummary = z.object(summaryFields).meta({ id: 'WebhookSummary' })

export const WebhookDetail = z
  .object({
    ...summaryFields,
    secret: z.string().meta({ description: 'Masked: only its last four characters' }),
    disabled_at: timestamp.nullable(),
    disabled_reason: z.string().nullable().meta({
      description:
        '`consecutive_failures`; `gone` after an answer of 410; `secret_unreadable` when this server cannot read the signing secret any more: rotate it',
    }),
  })
  .meta({ id: 'WebhookDetail' })

export const CreatedWebhook = z
  .object({
    id: idOf('whk'),
    url: z.string(),
    events: z.array(z.string()),
    secret: z.string().meta({ description: 'The whole signing secret. It is shown here only' }),
    status: WebhookStatus,
    created_at: timestamp,
  })
  .meta({ id: 'CreatedWebhook' })

const deliveryFields = {
  id: idOf('whd').meta({ description: 'Goes along as X-Service-Delivery-Id, the same for every attempt' }),
  event_type: z.string(),
  event_id: idOf('evt').meta({ description: 'The event’s id, also as webhook-id' }),
  http_status: z.int().nullable().meta({ description: 'Of the last attempt; null when nothing was answered' }),
  duration_ms: z.int().nullable(),
  attempt: z.int().meta({ description: 'Attempts so far' }),
  status: DeliveryStatus,
  error: z.string().nullable(),
  delivered_at: timestamp.nullable(),
  created_at: timestamp,
}

export const WebhookDelivery = z.object(deliveryFields).meta({ id: 'WebhookDelivery' })

const headers = z.record(z.string(), z.string())

export const WebhookDeliveryDetail = z
  .object({
    ...deliveryFields,
    next_attempt_at: timestamp.nullable().meta({ description: 'When it is tried again; null when it is settled' }),
    request: z.object({
      url: z.string().meta({ description: 'Where the webhook leads now' }),
      headers: headers.meta({ description: 'Of the last attempt, without the signatures' }),
      body: z.string().nullable().meta({ description: 'Null when the event is no longer kept' }),
    }),
    response: z
      .object({
        status: z.int(),
        headers,
        body: z.string().meta({ description: `At most the first ${maxSampleBytes} bytes` }),
      })
      .nullable()
      .meta({ description: 'Null when nothing was answered' }),
  })
  .meta({ id: 'WebhookDeliveryDetail' })

export const TestResult = z
  .object({
    delivery_id: idOf('whd'),
    status: DeliveryStatus,
    http_status: z.int().nullable(),
    duration_ms: z.int().nullable(),
  })
  .meta({ id: 'WebhookTestResult' })

const url = z
  .string()
  .max(maxUrlLength, `must have at most ${maxUrlLength} characters`)
  .meta({ format: 'uri', description: 'A public https address. Redirects are not followed' })

/** The number is checked before the names are: what is wrong with each of a million is not worth finding out. */
const events = z
  .array(z.unknown())
  .min(1, 'must name at least one event')
  .max(1_000, 'must have at most 1000 items')
  .pipe(z.array(z.enum(eventTypes, { error: ({ input }) => unknownEvent(input) })))
  .meta({ type: 'array', minItems: 1, items: { type: 'string', enum: eventTypes }, description: 'Which events it is told of' })

const unknownEvent = (input: unknown): string =>
  typeof input === 'string'
    ? `${JSON.stringify(input.slice(0, 60))} is no event; docs/events.md lists them`
    : 'must be the name of an event'

export const NewWebhook = z.object({ url, events })

export const WebhookChanges = z.object({
  url: url.optional(),
  events: events.optional(),
  status: z
    .enum(['active', 'paused'], { error: 'must be active or paused; a webhook is disabled only by its failures' })
    .optional()
    .meta({ description: '`active` also puts a disabled webhook back to work, with its failures forgotten' }),
})

export const DeliveryQuery = z.object({
  cursor: pageQuery.cursor,
  limit: limitOf(50),
  status: DeliveryStatus.optional(),
  event_type: z.enum([...eventTypes, testType], { error: 'must be the name of an event, or webhook.test' }).optional(),
})

/** Each once, in the order of the catalogue: the same wish always looks the same. */
export const withoutRepeats = (wanted: readonly EventType[]): EventType[] => eventTypes.filter((type) => wanted.includes(type))

/** Standard Webhooks 1.0: 24 to 64 random bytes in base64 after a prefix that tells what it is. */
export const makeWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

export const maskSecret = (secret: string): string => `whsec_…${secret.slice(-4)}`

/** What a test says; made from the delivery's row each time, as the bodies of events are made from theirs. */
export const testBodyOf = ({
  event_id,
  webhook_id,
  created_at,
}: Pick<WebhookDeliveryRow, 'event_id' | 'webhook_id' | 'created_at'>): string =>
  JSON.stringify(
    envelopeOf({ id: event_id, type: testType, created_at, data: { webhook_id: formatId('whk', webhook_id), message: testMessage } }),
  )

const testMessage = 'This is a test. Whoever verifies its signature and answers with a 2xx status is ready for events.'

/** `secret`: null when it cannot be read. */
export const toWebhookDetail = (row: WebhookRow, secret: string | null): z.output<typeof WebhookDetail> => ({
  ...row,
  secret: maskSecret(secret ?? ''),
})
