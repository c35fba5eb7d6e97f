import type { z } from 'zod'
import { dollarsOf, millsPerEmail, type Terms } from '../usage/usage.ts'
import type { Overage } from './billing.ts'

export const toOverage = ({ overage_enabled, overage_cap_mills }: Terms): z.output<typeof Overage> => ({
  overage_enabled,
  overage_cap: overage_cap_mills === null ? null : dollarsOf(overage_cap_mills),
  overage_rate: dollarsOf(millsPerEmail),
})
