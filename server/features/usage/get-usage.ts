import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { periodStart, planNamed, toUsage, Usage } from './usage.ts'
import { findPeriod, findTerms } from './usage-queries.ts'

export const getUsage = defineOperation({
  id: 'usage.get',
  method: 'GET',
  path: '/usage',
  scope: 'read',
  summary: 'What was sent this month, and what is left',
  description: 'Months are calendar months in UTC. `emails_sent` counts everything that was booked, what is on its way included.',
  result: Usage,
  status: 200,
  errors: [],

  async run({ database, clock, config, caller }) {
    const terms = await findTerms(database, caller.project_id)
    if (!terms) throw notFound('project')
    const period = await findPeriod(database, { project_id: caller.project_id, period_start: periodStart(clock.now()) })
    return toUsage(planNamed(config, terms.plan), terms, period)
  },
})
