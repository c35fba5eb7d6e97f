import type { ProjectId, UserId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { type ContactRow, contactEventData } from './contact.ts'
import { insertAgentContact, lockAgentContact } from './contact-queries.ts'

/** The contact behind an agent, which has no address: made once, with the event that tells of it, and held until the commit. */
export async function meetAgent(
  tx: Transaction,
  agent: { project_id: ProjectId; agent_id: UserId; name: string | null },
): Promise<ContactRow> {
  const made = await insertAgentContact(tx, agent)
  if (made) await publish(tx, agent.project_id, 'contact.created', contactEventData(made))
  return made ?? (await lockAgentContact(tx, agent)) ?? meetAgent(tx, agent) // removed between our insert and our look
}
