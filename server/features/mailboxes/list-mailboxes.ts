import { z } from 'zod'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, Page, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { MailboxStatus, MailboxSummary, MailboxType } from './mailbox.ts'
import { pageMailboxes } from './mailbox-queries.ts'

export const listMailboxes = defineOperation({
  id: 'mailboxes.list',
  method: 'GET',
  path: '/mailboxes',
  scope: 'read',
  summary: 'All mailboxes of the project, newest first',
  description: 'Those of lists and agents are among them.',
  query: z.object({
    status: MailboxStatus.optional(),
    type: MailboxType.optional(),
    search: z.string().max(200).optional().meta({ description: 'Part of the address or the name' }),
    cursor: pageQuery.cursor,
  }),
  result: z.array(MailboxSummary),
  status: 200,
  errors: [],

  async run({ database, caller }, { query: { cursor, search, ...filter } }) {
    const [after] = parseCursor(cursor, idPosition) ?? [null]
    const wanted = { ...filter, project_id: caller.project_id, search: search?.trim() || undefined, after, limit: unpagedLimit + 1 }
    const { items, next } = pageOf(await pageMailboxes(database, wanted), unpagedLimit, (row) => [row.id])
    return new Page(items, next)
  },
})
