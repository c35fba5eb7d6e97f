import { z } from 'zod'
import { ApiError, invalid } from '../../base/errors.ts'
import { idOf, type ProjectId, type UserId } from '../../base/ids.ts'
import { type Caller, type Role, roles, standsForPerson } from '../../operations/context.ts'
import { timestamp } from '../../operations/schemas.ts'

export interface MemberRow {
  project_id: ProjectId
  id: UserId
  email: string | null
  name: string | null
  kind: 'human' | 'agent'
  role: Role
  created_at: Date
}

export const MemberParams = z.object({ id: idOf('usr') })

export const Member = z
  .object({
    id: idOf('usr'),
    email: z.string().nullable(),
    name: z.string().nullable(),
    kind: z.enum(['human', 'agent']),
    role: z.enum(roles),
    created_at: timestamp.meta({ description: 'When they joined' }),
  })
  .meta({ id: 'Member' })

/** Who may give a role, or take it away: an owner any, an admin all but the owner's. */
export const mayGive = (own: Role | undefined, role: Role): boolean => own === 'owner' || (own === 'admin' && role !== 'owner')

export function refuseOwnerChange(actor: MemberRow | null, from: Role, to: Role | null): void {
  if (mayGive(actor?.role, from) && (to === null || mayGive(actor?.role, to))) return
  throw new ApiError('forbidden', 'Only an owner may make or unmake owners. Ask an owner of this project.')
}

/** Owners are made and unmade by people, not by a key that was handed out for less, nor by an app. */
export function refuseLesserKey(caller: Caller, ...roles: (Role | null)[]): void {
  if (!roles.includes('owner') || standsForPerson(caller)) return
  throw new ApiError('forbidden', 'To make or unmake owners, a key needs every scope that its maker has; apps cannot do it.')
}

export function refuseLastOwner(field: 'id' | 'role', ownersLeft: number): void {
  if (ownersLeft > 0) return
  throw invalid(field, 'would leave the project without an owner. Make somebody else an owner first, or delete the project')
}
