import type { Operation } from '../../operations/define-operation.ts'
import { getCalendarEvent } from './get-calendar-event.ts'
import { listCalendarEvents } from './list-calendar-events.ts'

export const calendarEventOperations: Operation[] = [listCalendarEvents, getCalendarEvent]

export { type ArrivedCalendar, applyCalendar } from './apply-calendar.ts'
