import { z } from 'zod'
import { idOf, type ProjectId, type UserId } from '../../base/ids.ts'
import { type Role, roles } from '../../operations/context.ts'
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
