import { defineOperation } from '../../operations/define-operation.ts'
import { deleteSessions as removeSessions } from './session-queries.ts'

export const deleteSessions = defineOperation({
  id: 'sessions.delete_all',
  method: 'DELETE',
  path: '/api/sessions',
  base: 'identity',
  scope: 'admin',
  actsForPerson: true,
  summary: 'Sign every browser of the key’s owner out',
  description: 'API keys and apps go on working; they are revoked one by one.',
  status: 204,
  errors: [],

  async run({ database, caller }) {
    await database.transaction((tx) => removeSessions(tx, caller.user_id))
  },
})
