import { z } from 'zod'
import { type ContactId, idOf, type ListId, type ProjectId, type SubscriberId } from '../../base/ids.ts'
import { timestamp } from '../../operations/schemas.ts'
import { WaitlistStatus } from '../waiting-lines/waiting-line.ts'

export const SubscriberStatus = z.enum(['active', 'pending', 'unsubscribed', 'bounced'])
export type SubscriberStatus = z.output<typeof SubscriberStatus>

export const SubscriberSource = z.enum(['api', 'verified_api', 'form', 'import', 'agent', 'join'])

export interface SubscriberRow {
  project_id: ProjectId
  list_id: ListId
  id: SubscriberId
  contact_id: ContactId
  email: string | null
  email_key: string | null
  name: string | null
  status: SubscriberStatus
  source: z.output<typeof SubscriberSource> | null
  subscribed_at: Date | null
  last_open_at: Date | null
  last_click_at: Date | null
  country: string | null
  city: string | null
  /** When they left; kept while they are asked to confirm once more. */
  unsubscribed_at: Date | null
  /** In their own words, while they are away. */
  unsubscribe_reason: string | null
  /** Active, and wants no mail before then. */
  paused_until: Date | null
  created_at: Date
}

/** So long after leaving one press brings somebody back; later they subscribe once more, and confirm. */
const undoMs = 24 * 3_600_000

/** Only who was on the list: a stranger may have put there who never confirmed. */
export const canUndoLeaving = (row: Pick<SubscriberRow, 'status' | 'subscribed_at' | 'unsubscribed_at'>, now: Date): boolean =>
  row.status === 'unsubscribed' &&
  row.subscribed_at !== null &&
  row.unsubscribed_at !== null &&
  now.getTime() - row.unsubscribed_at.getTime() < undoMs

export const SubscriberParams = z.object({ listId: idOf('lst'), subId: idOf('sub') })

export const SubscriberSummary = z
  .object({
    id: idOf('sub'),
    email: z.string().nullable(),
    name: z.string().nullable(),
    status: SubscriberStatus,
    source: SubscriberSource.nullable(),
    subscribed_at: timestamp.nullable(),
    created_at: timestamp,
    waitlist_status: WaitlistStatus.nullable().optional().meta({ description: 'On a waitlist; null for who has left the line' }),
    position: z.int().nullable().optional().meta({ description: 'On a waitlist: 1 is next; null for who waits no more' }),
  })
  .meta({ id: 'SubscriberSummary' })

export const SubscriberDetail = SubscriberSummary.omit({ created_at: true })
  .extend({
    last_open_at: timestamp.nullable(),
    last_click_at: timestamp.nullable(),
    country: z.string().nullable(),
    city: z.string().nullable(),
    created_at: timestamp,
    unsubscribe_reason: z.string().optional().meta({ description: 'What somebody who left gave as the reason, if anything' }),
    paused_until: timestamp
      .optional()
      .meta({ description: 'Left out unless they pause: they stay subscribed, and get no posts before then' }),
  })
  .meta({ id: 'SubscriberDetail' })

/** The nested object and the ids that every subscriber event carries. */
export const subscriberEventData = (row: SubscriberRow) => ({
  subscriber_id: row.id,
  list_id: row.list_id,
  contact_id: row.contact_id,
  subscriber: row,
})
