import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { Session } from './session.ts'
import { listSessions as findSessions } from './session-queries.ts'

export const listSessions = defineOperation({
  id: 'sessions.list',
  method: 'GET',
  path: '/api/sessions',
  base: 'identity',
  scope: 'admin',
  actsForPerson: true,
  summary: 'The browsers that the key’s owner is signed in with, last used first',
  result: z.array(Session),
  status: 200,
  errors: [],

  run: ({ database, clock, caller }) => findSessions(database, caller.user_id, clock.now()),
})
