import { ApiError, invalid } from '../../base/errors.ts'
import { formatId, type ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import { type Caller, roleScopes, standsForPerson } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findMailbox } from '../mailboxes/index.ts'
import { CreatedToken, makeKey, NewToken } from './token.ts'
import { findRole, insertToken } from './token-queries.ts'

export const createToken = defineOperation({
  id: 'tokens.create',
  method: 'POST',
  path: '/api/tokens',
  base: 'identity',
  scope: 'admin',
  summary: 'Create an API key',
  description: 'The key is in the answer, once. A key can never do more, or live longer, than the one that creates it.',
  body: NewToken,
  result: CreatedToken,
  status: 201,
  errors: [],

  async run({ database, clock, caller, request_id }, { body }) {
    const excess = body.scope.filter((scope) => !caller.scopes.includes(scope))
    if (excess.length > 0)
      throw new ApiError('forbidden', `scope: this key cannot grant ${excess.join(', ')}, which it does not have itself`)
    if (body.expires_at && body.expires_at <= clock.now()) throw invalid('expires_at', 'must be in the future')
    const mailbox_id = body.mailbox_id ?? null
    const ends = [body.expires_at, caller.expires_at].filter((end) => end != null)
    const expires_at = ends.length > 0 ? new Date(Math.min(...ends.map(Number))) : null
    return database.transaction(async (tx) => {
      const place = await placeOf(tx, caller, body.project_id ?? caller.project_id)
      if (mailbox_id && !(await findMailbox(tx, place.project_id, mailbox_id)))
        throw invalid('mailbox_id', 'names no mailbox of this project')
      const key = makeKey(mailbox_id !== null)
      const token = await insertToken(tx, { ...caller, ...place, name: body.name, key, scopes: body.scope, mailbox_id, expires_at })
      const { project_id } = place
      // Whoever looks there must find it there.
      if (project_id !== caller.project_id)
        await leaveAuditRow(tx, { project_id, operation: 'tokens.create', caller, target: { id: formatId('key', token!.id) }, request_id })
      return { ...token!, key } // an insert without conflict clause always returns its row
    })
  },
})

/** Where the key will belong. Beyond its own project a credential reaches only as far as it stands for a person, who rules there. */
async function placeOf(
  tx: Transaction,
  caller: Caller,
  project_id: ProjectId,
): Promise<{ project_id: ProjectId; agent_mailbox_id?: null }> {
  if (project_id === caller.project_id) return { project_id }
  if (!standsForPerson(caller))
    throw new ApiError('forbidden', 'project_id: only a key with all scopes of its maker makes keys for their other projects; apps cannot')
  const role = await findRole(tx, project_id, caller.user_id)
  if (!role) throw invalid('project_id', 'names no project of yours')
  if (!roleScopes[role].some((scope) => scope === 'admin'))
    throw new ApiError('forbidden', `project_id: only owners and admins make keys, and you are its ${role}. Ask an owner.`)
  return { project_id, agent_mailbox_id: null }
}
