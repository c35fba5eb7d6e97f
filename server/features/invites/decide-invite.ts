import { notFound } from '../../base/errors.ts'
import { formatId, type InviteId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import type { Caller } from '../../operations/context.ts'
import { findUser } from '../identity/index.ts'
import { findMember, insertMember } from '../members/index.ts'
import { mayGive } from '../members/member.ts'
import { lockProject } from '../projects/index.ts'
import { addScopeToKeys } from '../tokens/index.ts'
import { closed, type InviteRow, whyClosed } from './invite.ts'
import { findInvite, findInviteTo, lockInvite, setStatus } from './invite-queries.ts'

export interface Decision {
  id: InviteId
  status: 'approved' | 'rejected'
  /** For an agent's invite: its keys may send, too. */
  send?: boolean
  /** Who answers; `project_id` is null for somebody on the invite's page, who acts in no project. */
  caller: Pick<Caller, 'user_id' | 'key_id'> & { project_id: Caller['project_id'] | null }
  request_id: string
}

/** The addressee's answer. The same answer once more changes nothing. */
export async function decideInvite(tx: Transaction, decision: Decision): Promise<InviteRow> {
  const { id, status, caller } = decision
  const user = await findUser(tx, caller.user_id)
  const found = user?.email_key ? await findInviteTo(tx, user.email_key, id) : null
  if (!found) throw await refusalFor(tx, decision)
  const { project_id } = found
  // In this order everywhere, the project and then the invite, so that nobody waits for one another.
  const invite = (await lockProject(tx, project_id)) ? await lockInvite(tx, project_id, id) : null
  if (!invite) throw notFound('invite')
  if (invite.status === status) return invite
  const why = whyClosed(invite, tx.now) ?? (status === 'approved' ? await whyWithdrawn(tx, invite) : null)
  if (why !== null) throw closed(why)
  if (status === 'approved') await insertMember(tx, { project_id, user_id: caller.user_id, role: invite.role })
  // The maker of an agent's invite is the agent, and the project its own.
  if (invite.source === 'agent' && status === 'approved' && decision.send) await addScopeToKeys(tx, invite, 'send')
  // The caller's own project has the row of the operation.
  if (project_id !== caller.project_id) await leaveAuditRow(tx, auditRowOf(invite, decision))
  return setStatus(tx, invite, status)
}

/** An invite is worth what its maker could still give: who was removed, or is an admin no more, lets nobody in. */
async function whyWithdrawn(tx: Transaction, { project_id, user_id, role }: InviteRow): Promise<string | null> {
  const maker = await findMember(tx, project_id, user_id)
  return mayGive(maker?.role, role) ? null : 'cannot be accepted: whoever made it may not invite any more. Ask for a new one'
}

/** Those who made it may know that it exists; to everybody else it does not. */
async function refusalFor(tx: Transaction, { id, caller }: Decision): Promise<Error> {
  const own = caller.project_id && (await findInvite(tx, caller.project_id, id))
  return own
    ? closed(`is for ${own.email} to answer. Only a key of theirs, or they themselves on the page from the mail, can`)
    : notFound('invite')
}

const auditRowOf = ({ project_id, id }: InviteRow, { status, caller, request_id }: Decision) => ({
  project_id,
  operation: status === 'approved' ? 'invites.approve' : 'invites.reject',
  caller,
  target: { id: formatId('inv', id) },
  request_id,
})
