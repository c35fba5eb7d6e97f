import { newId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import type { OpenContext } from '../../operations/context.ts'
import { findUser, type Person, sendNotice } from '../identity/index.ts'
import { setPlan } from '../usage/index.ts'
import type { Claimed, RegistrationRow } from './agent.ts'
import { addScope, findAgentMailbox, setParent } from './agent-queries.ts'
import { createAgent } from './create-agent.ts'

interface Link {
  registration: RegistrationRow
  human: Person
  address: { address: string; key: string }
}

/** The agent stays what it is, below the human: they see it, can switch it off, and are asked into its project. */
export async function linkAgent(context: OpenContext, tx: Transaction, { registration, human, address }: Link): Promise<Claimed> {
  const agent = await agentOf(context, tx, registration)
  await setParent(tx, agent.user_id, human.user_id)
  await setPlan(tx, agent.project_id, 'free')
  if (context.config.CLAIM_WIDENS_FIRST_KEY) await addScope(tx, agent, 'write')
  await tx.run`
    insert into invites (project_id, id, email, email_key, role, source, user_id, created_at)
    values (${agent.project_id}, ${newId<'inv'>()}, ${address.address}, ${address.key}, 'admin', 'agent', ${agent.user_id}, ${tx.now})`
  await sendNotice(context, tx, {
    kind: 'agent_linked',
    to: address.address,
    subject: `The agent ${agent.name} is linked to your account`,
    parts: [
      `The agent ${agent.name} is linked to your account now. It can read and write in a project of its own, and asks you to join that project.`,
      'On this page you can let it send mail, and switch it off at once:',
      { link: `${context.config.AUTH_URL}/account/agents`, label: 'Your agents' },
    ],
  })
  return { user_id: agent.user_id, project_id: agent.project_id, mailbox: agent.mailbox, key_name: `Agent ${agent.name}` }
}

/** One that registered for its human is made only now that there is one. */
async function agentOf(context: OpenContext, tx: Transaction, { user_id, project_id }: RegistrationRow) {
  if (!user_id || !project_id) return createAgent(context, tx, 'free')
  const user = await findUser(tx, user_id)
  if (!user) throw new Error('an agent without an account')
  return { user_id, project_id, name: user.name ?? user.slug, mailbox: await findAgentMailbox(tx, { user_id, project_id }) }
}
