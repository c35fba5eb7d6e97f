import { z } from 'zod'
import { ApiError } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { email } from '../../operations/schemas.ts'
import { removeSuppression } from './suppression-queries.ts'

export const deleteSuppression = defineOperation({
  id: 'suppressions.delete',
  method: 'DELETE',
  path: '/suppressions/{email}',
  scope: 'write',
  summary: 'Let an address get mail again',
  description:
    'The address is percent-encoded in the path. Subscribers with this address keep their status: one that bounced stays so until you set it active.',
  params: z.object({ email }),
  status: 204,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    await database.transaction(async (tx) => {
      const removed = await removeSuppression(tx, caller.project_id, params.email.key)
      if (removed === 0) throw new ApiError('not_found', 'This address is not suppressed in this project.')
    })
  },
})
