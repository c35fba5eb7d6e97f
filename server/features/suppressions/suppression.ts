import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { ProjectId } from '../../base/ids.ts'
import { timestamp } from '../../operations/schemas.ts'

export const SuppressionReason = z.enum(['hard_bounce', 'soft_bounces', 'complaint', 'manual', 'erased'])

export interface SuppressionRow {
  project_id: ProjectId
  address_hash: Buffer
  email: string | null
  reason: z.output<typeof SuppressionReason>
  detail: string | null
  created_at: Date
}

export const Suppression = z
  .object({
    email: z.string().nullable().meta({ description: 'Null after the person was erased: only a hash is left' }),
    reason: SuppressionReason,
    detail: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Suppression' })

/** Salted with the project, so that two projects' lists cannot be held against each other. */
export const addressHash = (project_id: ProjectId, email_key: string): Buffer =>
  createHash('sha256').update(`${project_id}:${email_key}`).digest()
