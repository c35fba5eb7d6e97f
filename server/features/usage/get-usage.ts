import { defineOperation } from '../../operations/define-operation.ts'
import { freeUseElsewhere, termsOf } from './terms.ts'
import { periodStart, planNamed, toUsage, Usage } from './usage.ts'
import { findPeriod } from './usage-queries.ts'

export const getUsage = defineOperation({
  id: 'usage.get',
  method: 'GET',
  path: '/usage',
  scope: 'read',
  summary: 'What was sent this month, and what is left',
  description:
    'Months are calendar months in UTC. `emails_sent` counts everything that was booked in this project, what is on its way included. Projects of one owner on the free plan share one allowance.',
  result: Usage,
  status: 200,
  errors: [],

  async run({ database, clock, config, caller }) {
    const terms = await termsOf({ config }, database, caller.project_id)
    const period = await findPeriod(database, { project_id: caller.project_id, period_start: periodStart(clock.now()) })
    const elsewhere = await freeUseElsewhere({ config }, database, { terms, period })
    return toUsage({ plan: planNamed(config, terms.plan), terms, period, elsewhere })
  },
})
