import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { reachMailbox } from '../mailboxes/index.ts'
import { InboxEmailDetail, InboxEmailParams, markedAs, toInboxDetail } from './inbox-email.ts'
import { findInboxEmail, lockInboxEmail, saveMark, saveStatus } from './inbox-queries.ts'

export const updateInboxEmail = defineOperation({
  id: 'inbox.update',
  method: 'PATCH',
  path: '/mailboxes/{mailboxId}/emails/{emailId}',
  scope: 'write',
  mailboxKeys: 'allowed',
  summary: 'Mark an e-mail as read, or archive it',
  description:
    '`read` also takes a mail out of the archive. One that was answered stays `replied`. On a mail that was sent it is a mark beside what became of it, which `GET /emails/{id}` still tells.',
  params: InboxEmailParams,
  body: z.object({ status: z.enum(['read', 'archived'], { error: ({ input }) => (input === undefined ? 'is required' : undefined) }) }),
  result: InboxEmailDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, body }) {
    return database.transaction(async (tx) => {
      const { project_id, id: mailbox_id } = await reachMailbox(tx, caller, params.mailboxId)
      const key = { project_id, mailbox_id, id: params.emailId }
      const before = await lockInboxEmail(tx, key)
      if (!before) throw notFound('e-mail')
      if (before.direction === 'inbound') await saveStatus(tx, key, markedAs(before.status, body.status))
      else await saveMark(tx, key, body.status)
      return toInboxDetail((await findInboxEmail(tx, key))!) // held by this transaction
    })
  },
})
