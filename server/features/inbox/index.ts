import type { Operation } from '../../operations/define-operation.ts'
import { getAttachment } from './get-attachment.ts'
import { getInboxEmail } from './get-email.ts'
import { getEmailHtml } from './get-html.ts'
import { getRawEmail } from './get-raw.ts'
import { listEmails } from './list-emails.ts'
import { listThreads } from './list-threads.ts'
import { sendInboxEmail } from './send-email.ts'
import { streamEmails } from './stream-emails.ts'
import { updateInboxEmail } from './update-email.ts'

export const inboxOperations: Operation[] = [
  listEmails,
  sendInboxEmail,
  streamEmails,
  getInboxEmail,
  updateInboxEmail,
  getRawEmail,
  getAttachment,
  getEmailHtml,
  listThreads,
]
