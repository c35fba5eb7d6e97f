import { z } from 'zod'
import { type Id, idOf, type ProjectId } from '../../base/ids.ts'
import { line, timestamp } from '../../operations/schemas.ts'

export type ContactGroupId = Id<'grp'>

export interface ContactGroupRow {
  project_id: ProjectId
  id: ContactGroupId
  name: string
  contact_count: number
  created_at: Date
  updated_at: Date
}

export const maxGroups = 1_000
export const maxContacts = 100_000

export const GroupParams = z.object({ id: idOf('grp') })
export const GroupBody = z.object({ name: line(100).meta({ description: 'No other group of the project has it, in capitals or not' }) })

export const ContactGroup = z
  .object({ id: idOf('grp'), name: z.string(), contact_count: z.int(), created_at: timestamp, updated_at: timestamp })
  .meta({ id: 'ContactGroup' })

export const groupEventData = (group: ContactGroupRow) => ({ contact_group_id: group.id, name: group.name, contact_group: group })
