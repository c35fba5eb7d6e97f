import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { EmailRecord, toEmailRecord } from './email.ts'
import { findEmail } from './email-queries.ts'

export const getEmail = defineOperation({
  id: 'emails.get',
  method: 'GET',
  path: '/emails/{emailId}',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'One sent e-mail and what became of it',
  description: 'A key of one mailbox sees the mail of that mailbox.',
  params: z.object({ emailId: idOf('eml') }),
  result: EmailRecord,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const email = await findEmail(database, { project_id: caller.project_id, id: params.emailId, mailbox_id: caller.mailbox_id })
    if (!email) throw notFound('e-mail')
    return toEmailRecord(email)
  },
})
