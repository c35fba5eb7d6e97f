import type { z } from 'zod'
import type { Database } from '../../database/database.ts'
import { activeAtEnd, type Scope, sumDays, sumHours } from './series-queries.ts'
import type { Series, Span } from './stats.ts'

const noGrowth = { subscribed: 0, unsubscribed: 0, bounced: 0, active: 0 }
const noMail = { sent: 0, delivered: 0, opened: 0, clicked: 0 }

/** One point for each day, week or month, also for those in which nothing happened. One snapshot: the numbers belong together. */
export const seriesOf = (database: Database, scope: Scope, span: Span): Promise<z.output<typeof Series>> =>
  database.transaction(
    async (tx) => {
      const growth = new Map((await sumDays(tx, scope, span)).map(({ date, ...rest }) => [date, rest]))
      const mail = new Map((await sumHours(tx, scope, span)).map(({ date, ...rest }) => [date, rest]))
      // From the end, where it is known: each point ends where the one after it began.
      let active = await activeAtEnd(tx, scope, span)
      const points = span.starts.toReversed().map((date) => {
        const { active: grown, ...came } = growth.get(date) ?? noGrowth
        const point = { date, ...came, active, ...(mail.get(date) ?? noMail) }
        active -= grown
        return point
      })
      return points.reverse()
    },
    { snapshot: true },
  )
