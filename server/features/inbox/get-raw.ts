import { formatId } from '../../base/ids.ts'
import { defineOperation, fileOf } from '../../operations/define-operation.ts'
import { disposition, untrusted } from './downloads.ts'
import { InboxEmailParams } from './inbox-email.ts'
import { reachEmail } from './reach-email.ts'
import { readRaw } from './read-raw.ts'

export const getRawEmail = defineOperation({
  id: 'inbox.raw',
  method: 'GET',
  path: '/mailboxes/{mailboxId}/emails/{emailId}/raw',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'A received e-mail as it came, header and all',
  params: InboxEmailParams,
  result: fileOf('message/rfc822'),
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const email = await reachEmail(context, params)
    return {
      content_type: 'message/rfc822',
      headers: { ...untrusted, 'content-disposition': disposition('attachment', `${formatId('eml', email.id)}.eml`) },
      body: await readRaw(context, email),
    }
  },
})
