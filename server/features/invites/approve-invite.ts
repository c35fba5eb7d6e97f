import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { decideInvite } from './decide-invite.ts'
import { InviteParams, ProjectInvite } from './invite.ts'

export const approveInvite = defineOperation({
  id: 'invites.approve',
  method: 'POST',
  path: '/invites/{id}/approve',
  scope: 'admin',
  actsForPerson: true,
  summary: 'Accept an invite that is addressed to the caller',
  description: 'The caller becomes a member of the project that invites. Accepting twice changes nothing.',
  params: InviteParams,
  body: z.object({
    send: z.boolean().optional().meta({ description: 'For the invite of a linked agent: lets its keys send, too' }),
  }),
  result: ProjectInvite,
  status: 200,
  errors: ['not_found'],

  run: ({ database, caller, request_id }, { params, body }) =>
    database.transaction((tx) => decideInvite(tx, { id: params.id, status: 'approved', send: body.send ?? false, caller, request_id })),
})
