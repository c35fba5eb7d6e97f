import { z } from 'zod'
import { type ApiError, invalid } from '../../base/errors.ts'
import { type InviteId, idOf, type ProjectId, type UserId } from '../../base/ids.ts'
import { type Role, roles } from '../../operations/context.ts'
import { email, timestamp } from '../../operations/schemas.ts'

/**
 * Somebody is asked into a project: pending → approved or rejected, by the addressee; → revoked, by the project or after fourteen days.
 * What was decided stays decided.
 */
export const InviteStatus = z.enum(['pending', 'approved', 'rejected', 'revoked'])
export const InviteSource = z.enum(['team', 'agent'])

export interface InviteRow {
  project_id: ProjectId
  id: InviteId
  email: string
  email_key: string
  role: Role
  status: z.output<typeof InviteStatus>
  source: z.output<typeof InviteSource>
  /** Who asks. */
  user_id: UserId
  created_at: Date
  decided_at: Date | null
  mailed_at: Date | null
}

export const InviteParams = z.object({ id: idOf('inv') })

export const ProjectInvite = z
  .object({
    id: idOf('inv'),
    project_id: idOf('prj'),
    email: z.string(),
    role: z.enum(roles),
    status: InviteStatus,
    source: InviteSource.meta({ description: 'team: asked by the project. agent: asked by an agent that was linked' }),
    created_at: timestamp,
  })
  .meta({ id: 'ProjectInvite' })

export const NewInvite = z.object({
  email,
  role: z.enum(roles).optional().meta({ description: 'editor unless said; owner can only be given by an owner' }),
})

const validMs = 14 * 24 * 3_600_000

export const hasExpired = (invite: Pick<InviteRow, 'created_at'>, now: Date): boolean =>
  now.getTime() - invite.created_at.getTime() > validMs
/** Open invites that are older than this have expired. */
export const expiryLine = (now: Date): Date => new Date(now.getTime() - validMs)

/** Why nothing can be done with it any more, or null while it is open. */
export function whyClosed(invite: InviteRow, now: Date): string | null {
  if (invite.status !== 'pending') return `is ${invite.status} already; only a pending invite can be decided or revoked`
  return hasExpired(invite, now) ? 'has expired after 14 days. Ask the project to invite you once more' : null
}

export const closed = (why: string): ApiError => invalid('id', why)
