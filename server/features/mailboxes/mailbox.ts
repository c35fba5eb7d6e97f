import { z } from 'zod'
import { idOf, type ListId, type MailboxId, type ProjectId } from '../../base/ids.ts'
import { email, jsonObject, line, timestamp } from '../../operations/schemas.ts'
import { ttl } from './lifetime.ts'

/**
 * A mailbox takes mail for one address, for good (`persistent`), for a while (`disposable`), or to pass it on (`proxy`). While it is
 * `paused` other servers are asked to come again later; a `disabled` one refuses mail, and so does one whose end has come. Seven days
 * after that, or after it was deleted, what it held is erased, and its address is kept from other projects for a while longer.
 */
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
  email_count: number
  last_received_at: Date | null
  created_at: Date
}

/** What becomes of mail for it. An end that has come counts for more than what was set. */
export const stateOf = ({ status, expires_at }: Pick<MailboxRow, 'status' | 'expires_at'>, now: Date): MailboxRow['status'] | 'expired' =>
  expires_at !== null && expires_at <= now ? 'expired' : status

export const MailboxParams = z.object({ id: idOf('mbx') })

export const MailboxSummary = z
  .object({
    id: idOf('mbx'),
    address: z.string(),
    name: z.string().nullable(),
    type: MailboxType,
    status: MailboxStatus,
    email_count: z.int().meta({ description: 'E-mails in it, received and sent' }),
    expires_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'MailboxSummary' })

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
    expires_at: timestamp.nullable().meta({ description: 'When it stops taking mail; null: it stays' }),
    created_at: timestamp,
  })
  .meta({ id: 'MailboxDetail' })

export function toMailboxDetail(row: MailboxRow): z.output<typeof MailboxDetail> {
  const at = row.address.lastIndexOf('@')
  return { ...row, local_part: row.address.slice(0, at), domain: row.address.slice(at + 1) }
}

const name = line(200).meta({ description: 'Shown as the sender of what the mailbox sends' })
const config = jsonObject(16 * 1024).meta({
  description: 'Settings of your own, up to 16 KiB. A proxy mailbox needs `forward_to`: the address that it passes mail on to',
})

export const NewMailbox = z.object({
  address: email.optional().meta({ description: 'The full address; a readable one is made when it is left out' }),
  name: name.optional(),
  type: MailboxType.default('persistent'),
  config: config.optional(),
  ttl: ttl.optional().meta({ description: 'How long it lives: 45m, 6h, 7d, or seconds; at most 30 days, and 24h for a disposable one' }),
  expires_at: timestamp.optional().meta({ description: 'When it ends, in place of ttl; at most 30 days ahead' }),
  domain: line(253).optional().meta({ description: 'The domain of an address that is made for you; the root domain unless said' }),
  list_id: idOf('lst').optional().meta({ description: 'Ties it to a list of the project' }),
})
export type NewMailbox = z.output<typeof NewMailbox>

export const MailboxChanges = z.object({
  name: name.nullable().optional(),
  status: MailboxStatus.optional().meta({
    description: 'paused: other servers are asked to try again later; disabled: mail is refused for good',
  }),
  config: config.nullable().optional().meta({ description: 'Takes the place of the whole config' }),
  expires_at: timestamp.nullable().optional().meta({ description: 'At most 30 days ahead; null: it stays' }),
})
