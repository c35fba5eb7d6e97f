import { z } from 'zod'
import { idOf, type ProjectId, type UserId } from '../../base/ids.ts'
import { type Caller, type Role, roleScopes, roles } from '../../operations/context.ts'
import { line, timestamp } from '../../operations/schemas.ts'

/** A project as one of its members sees it. */
export interface ProjectRow {
  id: ProjectId
  name: string
  slug: string
  owner_id: UserId
  owner: string
  role: Role
  plan: string
  created_at: Date
}

export const ProjectParams = z.object({ id: idOf('prj') })

export const Project = z
  .object({
    id: idOf('prj'),
    name: z.string(),
    slug: z.string(),
    owner: z.string().meta({ description: 'The owner’s name in addresses' }),
    space: z.string().meta({ description: '`owner/slug`: the project’s API is also at /{owner}/{slug}/v1' }),
    role: z.enum(roles).meta({ description: 'What the caller is there' }),
    plan: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Project' })

export const NewProject = z.object({ name: line(200) })

export const toProject = (row: ProjectRow): z.output<typeof Project> => ({ ...row, space: `${row.owner}/${row.slug}` })

/**
 * A credential that may do all that its owner may, as a browser that is signed in. A lesser key was handed out for one thing: it neither
 * sees what else its maker has, nor ends their membership.
 */
export const standsForPerson = (caller: Pick<Caller, 'role' | 'scopes' | 'mailbox_id'>): boolean =>
  caller.mailbox_id === null && roleScopes[caller.role].every((scope) => caller.scopes.includes(scope))
