import { defineOperation } from '../../operations/define-operation.ts'
import { InboxEmailDetail, InboxEmailParams, toInboxDetail } from './inbox-email.ts'
import { reachEmail } from './reach-email.ts'

export const getInboxEmail = defineOperation({
  id: 'inbox.get',
  method: 'GET',
  path: '/mailboxes/{mailboxId}/emails/{emailId}',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'One e-mail of a mailbox, with its text',
  description: 'Looking at it does not mark it as read: PATCH does.',
  params: InboxEmailParams,
  result: InboxEmailDetail,
  status: 200,
  errors: ['not_found'],

  run: async (context, { params }) => toInboxDetail(await reachEmail(context, params)),
})
