import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findListType, UnderListParams } from '../lists/index.ts'
import { findLine } from '../waiting-lines/index.ts'
import { WaitlistStats } from './waitlist.ts'
import { topReferrers } from './waitlist-queries.ts'

const shown = 10

export const getWaitlistStats = defineOperation({
  id: 'waitlists.stats',
  method: 'GET',
  path: '/lists/{listId}/stats',
  scope: 'read',
  summary: 'How a waitlist is doing',
  description:
    'Of a waitlist; another list is 404 here. The ten who brought most are named. `GET /lists/{listId}/leaderboard` has more of them.',
  params: UnderListParams,
  result: WaitlistStats,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    if ((await findListType(database, key)) !== 'waitlist') throw notFound('waitlist')
    const [line, top_referrers] = await Promise.all([findLine(database, key), topReferrers(database, key, shown)])
    const { waiting, invited, accepted } = line ?? { waiting: 0, invited: 0, accepted: 0 }
    const conversion_rate = invited === 0 ? 0 : accepted / invited
    return { total: waiting + invited, waiting, invited, accepted, conversion_rate, top_referrers }
  },
})
