import { z } from 'zod'
import { type DeliveryId, idOf, type SubscriberId } from '../../base/ids.ts'
import { timestamp } from '../../operations/schemas.ts'

/** queued ⇄ sending → delivered, bounced or failed; delivered → bounced or complained, when that is heard of later. */
export const DeliveryStatus = z.enum(['queued', 'sending', 'delivered', 'bounced', 'failed', 'complained'])
export type DeliveryStatus = z.output<typeof DeliveryStatus>

export interface DeliveryRow {
  id: DeliveryId
  subscriber_id: SubscriberId
  email: string
  status: DeliveryStatus
  attempts: number
  smtp_code: number | null
  enhanced_code: string | null
  reason: string | null
  sent_at: Date | null
  settled_at: Date | null
  opened_at: Date | null
  open_count: number
  click_count: number
}

export const Delivery = z
  .object({
    id: idOf('dlv'),
    subscriber_id: idOf('sub'),
    email: z.string(),
    status: DeliveryStatus,
    attempts: z.int(),
    smtp_code: z.int().nullable().meta({ description: 'What the receiving server last answered' }),
    enhanced_code: z.string().nullable().meta({ description: 'The same in the form of RFC 3463' }),
    reason: z.string().nullable().meta({ description: 'The same in words' }),
    sent_at: timestamp.nullable().meta({ description: 'When the receiving server took it' }),
    settled_at: timestamp.nullable().meta({ description: 'When its status became final' }),
    opened_at: timestamp.nullable(),
    open_count: z.int(),
    click_count: z.int(),
  })
  .meta({ id: 'Delivery' })
