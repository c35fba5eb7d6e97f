import { z } from 'zod'
import { idOf, type ListId, type MailboxId, type ProjectId } from '../../base/ids.ts'
import { timestamp } from '../../operations/schemas.ts'

export const MailboxType = z.enum(['persistent', 'disposable', 'proxy'])
export const MailboxStatus = z.enum(['active', 'paused', 'disabled'])

export interface MailboxRow {
  project_id: ProjectId
  id: MailboxId
  address: string
  name: string | null
  type: z.output<typeof MailboxType>
  status: z.output<typeof MailboxStatus>
  list_id: ListId | null
  config: Record<string, unknown> | null
  expires_at: Date | null
  created_at: Date
}

export const MailboxDetail = z
  .object({
    id: idOf('mbx'),
    address: z.string(),
    local_part: z.string(),
    domain: z.string(),
    name: z.string().nullable(),
    type: MailboxType,
    status: MailboxStatus,
    list_id: idOf('lst').nullable(),
    config: z.record(z.string(), z.unknown()).nullable(),
    expires_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'MailboxDetail' })

export function toMailboxDetail(row: MailboxRow): z.output<typeof MailboxDetail> {
  const at = row.address.lastIndexOf('@')
  return { ...row, local_part: row.address.slice(0, at), domain: row.address.slice(at + 1) }
}
