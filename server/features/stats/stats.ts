import { z } from 'zod'
import { invalid } from '../../base/errors.ts'
import { idOf, type PostId } from '../../base/ids.ts'
import { timestamp } from '../../operations/schemas.ts'

const count = z.int()

export const ProjectStats = z
  .object({
    lists: count,
    active_subscribers: count.meta({ description: 'Of all lists together: who is on two of them counts twice' }),
    contacts: count.meta({ description: 'People, each once' }),
    emails_sent: count.meta({
      description:
        'Everything that has left, ever, as `GET /usage` counts it: copies of posts that a receiving server took or refused, and single e-mails that one took. Confirmations, test copies and notices are not in it; what was sent to lists that are deleted is.',
    }),
  })
  .meta({ id: 'ProjectStats' })

export const ListStats = z
  .object({
    subscribers: z.object({ total: count, active: count, pending: count, unsubscribed: count, bounced: count }),
    deliveries: z.object({
      total_sent: count.meta({ description: 'Copies of posts that a receiving server took or refused' }),
      total_delivered: count.meta({ description: 'Taken, and not sent back since; those that were reported as spam had arrived' }),
      total_opened: count.meta({
        description: 'Copies that a person opened, each once. What scanners and privacy proxies fetch is not counted.',
      }),
      total_clicked: count.meta({ description: 'Copies in which a person followed a link, each once' }),
      total_bounced: count,
    }),
  })
  .meta({ id: 'ListStats' })

const rate = z.number().min(0).max(1)

const postNumbers = {
  post_id: idOf('post'),
  subject: z.string(),
  sent_at: timestamp.nullable().meta({ description: 'When the last copy was settled; null until then' }),
  recipients: count,
  sent: count.meta({ description: 'Taken or refused by a receiving server: delivered + bounced' }),
  delivered: count,
  bounced: count,
  failed: count.meta({ description: 'Given up, or withdrawn because the recipient had left' }),
  opened: count.meta({ description: 'People who opened it, each once; machines are not counted' }),
  clicked: count.meta({ description: 'People who followed a link of it, each once' }),
  complained: count.meta({ description: 'Of those delivered, reported as spam' }),
  unsubscribed: count.meta({ description: 'Left the list by a link in this post, or by answering it' }),
  open_rate: rate.meta({ description: 'opened / delivered; 0 while none is' }),
  click_rate: rate.meta({ description: 'clicked / delivered' }),
  bounce_rate: rate.meta({ description: 'bounced / sent' }),
  complaint_rate: rate.meta({ description: 'complained / delivered' }),
  unsubscribe_rate: rate.meta({ description: 'unsubscribed / delivered' }),
}

export const PostStats = z.object(postNumbers).meta({ id: 'PostStats' })

export const PostStatsDetail = z
  .object({
    ...postNumbers,
    hours: z.array(z.object({ hour: timestamp, delivered: count, opened: count, clicked: count })).meta({
      description: 'The first 72 hours, or those that have begun; empty hours are there. `opened` and `clicked` count first times.',
    }),
  })
  .meta({ id: 'PostStatsDetail' })

export interface PostStatsRow {
  post_id: PostId
  subject: string
  sent_at: Date | null
  recipients: number
  delivered: number
  bounced: number
  failed: number
  opened: number
  clicked: number
  complained: number
  unsubscribed: number
}

/** Four digits are more than anybody reads. Counts that are being mended must not make more than all of them. */
const rateOf = (part: number, whole: number): number => (whole <= 0 ? 0 : Math.min(1, Math.round((part / whole) * 10_000) / 10_000))

export function toPostStats(row: PostStatsRow): z.output<typeof PostStats> {
  const sent = row.delivered + row.bounced
  return {
    ...row,
    sent,
    open_rate: rateOf(row.opened, row.delivered),
    click_rate: rateOf(row.clicked, row.delivered),
    bounce_rate: rateOf(row.bounced, sent),
    complaint_rate: rateOf(row.complained, row.delivered),
    unsubscribe_rate: rateOf(row.unsubscribed, row.delivered),
  }
}

export const PostLink = z
  .object({
    url: z.string(),
    clicks: count.meta({ description: 'Each time that a person followed it' }),
    unique_clicks: count.meta({ description: 'People who followed it, each once' }),
  })
  .meta({ id: 'PostLink' })

export const Series = z
  .array(
    z.object({
      date: z.iso.date().meta({ description: 'The day, the Monday of the week, or the first of the month; all of UTC' }),
      subscribed: count.meta({ description: 'Became active: confirmed, added or imported, or came back' }),
      unsubscribed: count,
      bounced: count.meta({ description: 'Subscribers whose address turned out to be dead' }),
      active: count.meta({ description: 'Active subscribers at the end of it' }),
      sent: count.meta({ description: 'Copies of posts that a receiving server took or refused' }),
      delivered: count.meta({ description: 'Of those, taken, and not sent back since' }),
      opened: count.meta({ description: 'Copies that a person opened for the first time' }),
      clicked: count.meta({ description: 'Copies in which a person followed a link for the first time' }),
    }),
  )
  .meta({ id: 'StatsSeries' })

export const interval = z.enum(['day', 'week', 'month'])
type Interval = z.output<typeof interval>

const day = z.iso.date({ error: 'must be a day, such as 2026-11-15' })

export const SeriesQuery = z.object({
  from: day.optional().meta({ description: 'The first day, in UTC; 30 days back from `to` unless said' }),
  to: day.optional().meta({ description: 'The last day, in UTC; today unless said' }),
  interval: interval.default('day').meta({ description: 'Weeks begin on Monday. Those that `from` and `to` lie in are shown whole.' }),
})

export interface Span {
  interval: Interval
  /** The first day, and the one after the last. */
  from: Date
  until: Date
  /** The first day of each point. */
  starts: string[]
}

const dayMs = 86_400_000
const defaultDays = 30
const maxPoints = 400

const textOf = (date: Date): string => date.toISOString().slice(0, 10)

function startOf(interval: Interval, date: Date): Date {
  if (interval === 'month') return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1))
  const sinceMonday = interval === 'week' ? (date.getUTCDay() + 6) % 7 : 0
  return new Date(date.getTime() - sinceMonday * dayMs)
}

const nextOf = (interval: Interval, start: Date): Date =>
  interval === 'month'
    ? new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1))
    : new Date(start.getTime() + (interval === 'week' ? 7 : 1) * dayMs)

/** What is asked for, as whole points. Nothing has happened tomorrow yet: it ends with today. */
export function spanOf(query: z.output<typeof SeriesQuery>, now: Date): Span {
  const today = new Date(textOf(now))
  const asked = query.to === undefined ? today : new Date(query.to)
  const last = asked > today ? today : asked
  const first = query.from === undefined ? new Date(last.getTime() - (defaultDays - 1) * dayMs) : new Date(query.from)
  if (first > last) throw invalid('from', query.to === undefined || asked > today ? 'must not be in the future' : 'must not be after `to`')
  const starts: string[] = []
  let start = startOf(query.interval, first)
  const from = start
  for (; start <= last; start = nextOf(query.interval, start)) {
    if (starts.length === maxPoints) throw invalid('from', `gives more than ${maxPoints} points; take fewer days, or a longer interval`)
    starts.push(textOf(start))
  }
  return { interval: query.interval, from, until: start, starts }
}
