import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { keyOf, PostParams } from '../posts/index.ts'
import { PostStatsDetail, toPostStats } from './stats.ts'
import { findHours, findPostStats, type HourRow } from './stats-queries.ts'

const hourMs = 3_600_000
const shownHours = 72

export const getPostStats = defineOperation({
  id: 'stats.post',
  method: 'GET',
  path: '/lists/{listId}/posts/{postId}/stats',
  scope: 'read',
  summary: 'The numbers of one post, and how its first three days went',
  description: 'All are 0 while it has not been sent.',
  params: PostParams,
  result: PostStatsDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, clock, caller }, { params }) {
    const key = keyOf(caller, params)
    const post = await findPostStats(database, key)
    if (!post) throw notFound('post')
    const { broadcast_id, began_at } = post
    if (broadcast_id === null || began_at === null) return { ...toPostStats(post), hours: [] }
    const first = Math.floor(began_at.getTime() / hourMs) * hourMs
    const until = first + shownHours * hourMs
    const rows = await findHours(database, { project_id: key.project_id, broadcast_id, until: new Date(until) })
    return { ...toPostStats(post), hours: eachHour(rows, first, Math.min(until, clock.now().getTime() + 1)) }
  },
})

function eachHour(rows: HourRow[], first: number, until: number): HourRow[] {
  const known = new Map(rows.map((row) => [row.hour.getTime(), row]))
  const hours: HourRow[] = []
  for (let at = first; at < until; at += hourMs) hours.push(known.get(at) ?? { hour: new Date(at), delivered: 0, opened: 0, clicked: 0 })
  return hours
}
