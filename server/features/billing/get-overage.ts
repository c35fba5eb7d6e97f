import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findTerms } from '../usage/index.ts'
import { Overage } from './billing.ts'
import { toOverage } from './overage.ts'

export const getOverage = defineOperation({
  id: 'overage.get',
  method: 'GET',
  path: '/settings/overage',
  scope: 'admin',
  summary: 'Whether more than the plan may be sent, and what that costs',
  result: Overage,
  status: 200,
  errors: [],

  async run({ database, caller }) {
    const terms = await findTerms(database, caller.project_id)
    if (!terms) throw notFound('project')
    return toOverage(terms)
  },
})
