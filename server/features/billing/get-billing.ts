import { defineOperation } from '../../operations/define-operation.ts'
import { Billing } from './billing.ts'
import { showBilling } from './show-billing.ts'

export const getBilling = defineOperation({
  id: 'billing.get',
  method: 'GET',
  path: '/billing',
  scope: 'admin',
  summary: 'The plan, the subscription behind it, and what else there is',
  result: Billing,
  status: 200,
  errors: [],
  run: (context) => showBilling(context),
})
