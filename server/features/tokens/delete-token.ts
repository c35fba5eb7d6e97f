import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { deleteToken as removeToken } from './token-queries.ts'

export const deleteToken = defineOperation({
  id: 'tokens.delete',
  method: 'DELETE',
  path: '/api/tokens/{id}',
  base: 'identity',
  scope: 'admin',
  summary: 'Revoke an API key',
  description: 'It stops working on every node within a second.',
  params: z.object({ id: idOf('key') }),
  status: 204,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    await database.transaction(async (tx) => {
      if (!(await removeToken(tx, caller.project_id, params.id))) throw notFound('key')
    })
  },
})
