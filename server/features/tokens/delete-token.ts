import { z } from 'zod'
import { ApiError, notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { deleteToken as removeToken } from './token-queries.ts'

export const deleteToken = defineOperation({
  id: 'tokens.delete',
  method: 'DELETE',
  path: '/api/tokens/{id}',
  base: 'identity',
  scope: 'any',
  summary: 'Revoke an API key',
  description: 'It stops working on every node within a second. A key may always revoke itself; for others it needs the scope `admin`.',
  params: z.object({ id: idOf('key') }),
  status: 204,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    if (params.id !== caller.key_id && !caller.scopes.includes('admin'))
      throw new ApiError('forbidden', 'This key lacks the scope "admin", so it can revoke nothing but itself.')
    await database.transaction(async (tx) => {
      if (!(await removeToken(tx, caller.project_id, params.id))) throw notFound('key')
    })
  },
})
