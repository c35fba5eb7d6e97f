import { z } from 'zod'
import { invalid } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { Page, pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { timestamp } from '../../operations/schemas.ts'
import { reachMailbox } from '../mailboxes/index.ts'
import { CalendarEvent, CalendarEventStatus, toCalendarEvent } from './calendar-event.ts'
import { pageCalendarEvents } from './calendar-event-queries.ts'

const position = z.tuple([z.iso.datetime(), z.uuid()])

export const listCalendarEvents = defineOperation({
  id: 'calendar_events.list',
  method: 'GET',
  path: '/calendar-events',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'Events that mailboxes were invited to, by their beginning',
  description:
    'Made from the invitations (iCalendar) in mail that came in. Cancelled ones are left out unless `status=cancelled` asks for them. A series is one event with its first times and its rule; asked for a span of time, it is among the answers when it began before the end of that span. A key of one mailbox sees what came into that mailbox.',
  query: z.object({
    mailbox_id: idOf('mbx').optional(),
    status: CalendarEventStatus.optional(),
    from: timestamp.optional().meta({ description: 'Only what ends after this' }),
    to: timestamp.optional().meta({ description: 'Only what begins before this' }),
    ...pageQuery,
  }),
  result: z.array(CalendarEvent),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { query: { cursor, limit, mailbox_id, from, to, status } }) {
    if (from && to && from >= to) throw invalid('to', 'must be after from')
    const [starts_at, id] = parseCursor(cursor, position) ?? []
    if (mailbox_id) await reachMailbox(database, caller, mailbox_id)
    const rows = await pageCalendarEvents(database, {
      project_id: caller.project_id,
      mailbox_id: mailbox_id ?? caller.mailbox_id,
      status,
      from,
      to,
      after: starts_at === undefined || id === undefined ? null : { starts_at: new Date(starts_at), id },
      limit: limit + 1,
    })
    const { items, next } = pageOf(rows, limit, (row) => [row.starts_at.toISOString(), row.id])
    return new Page(items.map(toCalendarEvent), next)
  },
})
