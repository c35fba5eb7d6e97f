import { notFound } from '../../base/errors.ts'
import type { InviteId, ProjectId } from '../../base/ids.ts'
import type { Database } from '../../database/database.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { lockProject } from '../projects/index.ts'
import { closed, InviteParams, type InviteRow, ProjectInvite, whyClosed } from './invite.ts'
import { lockInvite, setStatus } from './invite-queries.ts'

const contract = {
  scope: 'admin',
  description: 'For the project that invites. Whoever has accepted already is a member: remove them at /members.',
  params: InviteParams,
  errors: ['not_found', 'validation_error'],
} as const

export const revokeInvite = defineOperation({
  ...contract,
  id: 'invites.revoke',
  method: 'POST',
  path: '/invites/{id}/revoke',
  summary: 'Take an invite back',
  result: ProjectInvite,
  status: 200,
  errors: [...contract.errors],

  run: ({ database, caller }, { params }) => revoke(database, caller.project_id, params.id),
})

export const deleteInvite = defineOperation({
  ...contract,
  id: 'invites.delete',
  method: 'DELETE',
  path: '/invites/{id}',
  summary: 'Take an invite back, with nothing to read',
  status: 204,
  errors: [...contract.errors],

  async run({ database, caller }, { params }) {
    await revoke(database, caller.project_id, params.id)
  },
})

const revoke = (database: Database, project_id: ProjectId, id: InviteId): Promise<InviteRow> =>
  database.transaction(async (tx) => {
    const invite = (await lockProject(tx, project_id)) ? await lockInvite(tx, project_id, id) : null
    if (!invite) throw notFound('invite')
    // One that has expired may still be cleared away.
    if (invite.status !== 'pending') throw closed(whyClosed(invite, tx.now) as string)
    return setStatus(tx, invite, 'revoked')
  })
