import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { CalendarEvent, toCalendarEvent } from './calendar-event.ts'
import { findCalendarEvent } from './calendar-event-queries.ts'

export const getCalendarEvent = defineOperation({
  id: 'calendar_events.get',
  method: 'GET',
  path: '/calendar-events/{id}',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'One event',
  description: 'A cancelled one is answered, too. A key of one mailbox sees what came into that mailbox.',
  params: z.object({ id: idOf('cal') }),
  result: CalendarEvent,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller: { project_id, mailbox_id } }, { params }) {
    const event = await findCalendarEvent(database, { project_id, mailbox_id, id: params.id })
    if (!event) throw notFound('calendar event')
    return toCalendarEvent(event)
  },
})
