import { z } from 'zod'
import { standsForPerson } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { findUser } from '../identity/index.ts'
import { InviteStatus, ProjectInvite } from './invite.ts'
import { pageInvites } from './invite-queries.ts'

export const listInvites = defineOperation({
  id: 'invites.list',
  method: 'GET',
  path: '/invites',
  scope: 'admin',
  summary: 'Invites to the project, and those from others to the caller, newest first',
  description:
    'Of the invites from other projects, those that are addressed to the caller’s own e-mail address and still open; only for a key that may do all its maker may.',
  query: z.object({ ...pageQuery, status: InviteStatus.optional() }),
  result: z.array(ProjectInvite),
  status: 200,
  errors: [],

  async run({ database, clock, caller }, { query }) {
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    const user = standsForPerson(caller) ? await findUser(database, caller.user_id) : null
    const { status, limit } = query
    const page = { project_id: caller.project_id, email_key: user?.email_key ?? null, status, after, limit: limit + 1, now: clock.now() }
    return pageOf(await pageInvites(database, page), limit, (row) => [row.id])
  },
})
