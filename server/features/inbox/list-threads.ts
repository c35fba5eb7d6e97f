import { z } from 'zod'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { timestamp } from '../../operations/schemas.ts'
import { reachMailbox } from '../mailboxes/index.ts'
import { InboxParams } from './inbox-email.ts'
import { pageThreads } from './thread-queries.ts'

const ThreadSummary = z
  .object({
    thread_id: idOf('thr'),
    subject: z.string().nullable().meta({ description: 'Of its first e-mail' }),
    participants: z.array(z.string()).meta({ description: 'Who wrote and was written to, the latest first, at most 20' }),
    count: z.int().meta({ description: 'E-mails in it' }),
    unread: z.int().meta({ description: 'Of these, received ones that nobody has marked as read' }),
    last_email_id: idOf('eml'),
    last_at: timestamp,
  })
  .meta({ id: 'ThreadSummary' })

export const listThreads = defineOperation({
  id: 'inbox.threads',
  method: 'GET',
  path: '/mailboxes/{mailboxId}/threads',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'The conversations of a mailbox, the one with the newest e-mail first',
  description: '`GET /mailboxes/{mailboxId}/emails?thread_id=` has the e-mails of one. Mail that failed is in none.',
  params: InboxParams,
  query: z.object(pageQuery),
  result: z.array(ThreadSummary),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query: { cursor, limit } }) {
    const [before] = parseCursor(cursor, idPosition) ?? [null]
    const { project_id, id: mailbox_id } = await reachMailbox(database, caller, params.mailboxId)
    return pageOf(await pageThreads(database, { project_id, mailbox_id, before, limit: limit + 1 }), limit, (row) => [row.last_email_id])
  },
})
