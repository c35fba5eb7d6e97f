import { z } from 'zod'
import { type ContactId, idOf, type ProjectId } from '../../base/ids.ts'
import { timestamp } from '../../operations/schemas.ts'

export interface ContactRow {
  project_id: ProjectId
  id: ContactId
  kind: 'person' | 'agent'
  email: string | null
  email_key: string | null
  name: string | null
  notes: string | null
  org: string | null
  job_title: string | null
  labels: string[]
  metadata: Record<string, unknown>
  country: string | null
  city: string | null
  timezone: string | null
  total_received: number
  total_opens: number
  total_clicks: number
  total_replies: number
  last_activity_at: Date | null
  created_at: Date
  updated_at: Date
}

export const ContactKind = z.enum(['person', 'agent'])
export const ContactSort = z.enum(['top', 'activity', 'name', 'email', 'created'])
export type ContactSort = z.output<typeof ContactSort>
export const ContactParams = z.object({ id: idOf('con') })

const totals = { total_received: z.int(), total_opens: z.int(), total_clicks: z.int(), total_replies: z.int() }

export const ContactSummary = z
  .object({
    id: idOf('con'),
    kind: ContactKind,
    email: z.string().nullable(),
    name: z.string().nullable(),
    country: z.string().nullable(),
    city: z.string().nullable(),
    ...totals,
    list_count: z.int(),
    last_activity_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'ContactSummary' })

export const ContactDetail = z
  .object({
    id: idOf('con'),
    kind: ContactKind,
    email: z.string().nullable(),
    name: z.string().nullable(),
    notes: z.string().nullable(),
    org: z.string().nullable(),
    job_title: z.string().nullable(),
    tags: z.array(z.string()).meta({ description: 'Labels' }),
    metadata: z.record(z.string(), z.unknown()),
    country: z.string().nullable(),
    city: z.string().nullable(),
    timezone: z.string().nullable(),
    ...totals,
    last_activity_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'ContactDetail' })

export const toContactDetail = (row: ContactRow): z.output<typeof ContactDetail> => ({ ...row, tags: row.labels })

export const contactEventData = (row: ContactRow) => ({ contact_id: row.id, contact: toContactDetail(row) })
