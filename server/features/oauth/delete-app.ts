import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { deleteGrant } from './oauth-queries.ts'

export const deleteApp = defineOperation({
  id: 'apps.delete',
  method: 'DELETE',
  path: '/api/apps/{id}',
  base: 'identity',
  scope: 'admin',
  summary: 'Throw an app out of the project',
  description: 'All its tokens stop on every node within a second. To come back, it has to be let in again.',
  params: z.object({ id: idOf('app') }),
  status: 204,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    await database.transaction(async (tx) => {
      if (!(await deleteGrant(tx, caller.project_id, params.id))) throw notFound('app')
    })
  },
})
