import { defineOperation } from '../../operations/define-operation.ts'
import { decideInvite } from './decide-invite.ts'
import { InviteParams, ProjectInvite } from './invite.ts'

export const rejectInvite = defineOperation({
  id: 'invites.reject',
  method: 'POST',
  path: '/invites/{id}/reject',
  scope: 'admin',
  actsForPerson: true,
  summary: 'Decline an invite that is addressed to the caller',
  params: InviteParams,
  result: ProjectInvite,
  status: 200,
  errors: ['not_found', 'validation_error'],

  run: ({ database, caller, request_id }, { params }) =>
    database.transaction((tx) => decideInvite(tx, { id: params.id, status: 'rejected', caller, request_id })),
})
