import type { Transaction } from '../../database/database.ts'
import type { OpenContext } from '../../operations/context.ts'
import { findUser, type Person } from '../identity/index.ts'
import { addScopeToKeys } from '../tokens/index.ts'
import type { Claimed, RegistrationRow } from './agent.ts'
import { findAgentMailbox, handOverKeys, retireAgent } from './agent-queries.ts'
import { moveRest } from './move-rest.ts'
import { moveThings } from './move-things.ts'

interface Merge {
  registration: RegistrationRow
  human: Person
}

/** The agent becomes part of the human's account: what it has is theirs, and so are its keys. */
export async function mergeAgent(context: OpenContext, tx: Transaction, { registration, human }: Merge): Promise<Claimed> {
  const { user_id, project_id } = registration
  const { user_id: human_id, project_id: home_id } = human
  // One that registered for its human has nothing of its own.
  if (!user_id || !project_id) return { user_id: human_id, project_id: home_id, mailbox: null, key_name: 'Agent' }
  const agent = { user_id, project_id }
  const mailbox = await findAgentMailbox(tx, agent)
  const move = { from: project_id, to: home_id }
  await moveThings(tx, move)
  if (context.config.CLAIM_WIDENS_FIRST_KEY) await addScopeToKeys(tx, agent, 'write')
  await handOverKeys(tx, agent, { user_id: human_id, project_id: home_id })
  await retireAgent(tx, agent)
  await context.jobs.enqueue(tx, moveRest, move)
  const name = (await findUser(tx, user_id))?.name
  return { user_id: human_id, project_id: home_id, mailbox, key_name: `Agent ${name}` }
}
