import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findListType, UnderListParams } from '../lists/index.ts'
import { standingsOf } from '../waiting-lines/index.ts'
import { LeaderboardEntry } from './waitlist.ts'
import { topReferrers } from './waitlist-queries.ts'

const shown = 100

export const getLeaderboard = defineOperation({
  id: 'waitlists.leaderboard',
  method: 'GET',
  path: '/lists/{listId}/leaderboard',
  scope: 'read',
  summary: 'Who has brought the most people to a waitlist, and where they stand',
  description: 'The first hundred, most confirmed referrals first.',
  params: UnderListParams,
  result: z.array(LeaderboardEntry),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    if ((await findListType(database, key)) !== 'waitlist') throw notFound('waitlist')
    const referrers = await topReferrers(database, key, shown)
    const standings = await standingsOf(
      database,
      key,
      referrers.map(({ id }) => id),
    )
    const positionOf = new Map(standings.map(({ subscriber_id, position }) => [subscriber_id, position]))
    return referrers.map((referrer, index) => ({ ...referrer, rank: index + 1, position: positionOf.get(referrer.id) ?? null }))
  },
})
