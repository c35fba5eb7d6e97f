import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { deleteSession as removeSession } from './session-queries.ts'

export const deleteSession = defineOperation({
  id: 'sessions.delete',
  method: 'DELETE',
  path: '/api/sessions/{id}',
  base: 'identity',
  scope: 'admin',
  actsForPerson: true,
  summary: 'Sign one browser of the key’s owner out',
  description: 'It is signed out at once. The ids are in `GET /api/sessions`.',
  params: z.object({ id: idOf('ses') }),
  status: 204,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    await database.transaction(async (tx) => {
      if (!(await removeSession(tx, caller.user_id, params.id))) throw notFound('session')
    })
  },
})
