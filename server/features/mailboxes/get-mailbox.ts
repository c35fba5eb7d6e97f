import { defineOperation } from '../../operations/define-operation.ts'
import { MailboxDetail, MailboxParams, toMailboxDetail } from './mailbox.ts'
import { reachMailbox } from './reach-mailbox.ts'

export const getMailbox = defineOperation({
  id: 'mailboxes.get',
  method: 'GET',
  path: '/mailboxes/{id}',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'One mailbox',
  description: 'A key of one mailbox sees that mailbox.',
  params: MailboxParams,
  result: MailboxDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    return toMailboxDetail(await reachMailbox(database, caller, params.id))
  },
})
