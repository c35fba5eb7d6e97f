import type { z } from 'zod'
import { dollarsOf, millsPerEmail } from '../../base/plans.ts'
import type { Terms } from '../usage/usage.ts'
import type { Overage } from './billing.ts'

/** `2026-11` */
export const nameOfMonth = ({ period_start }: { period_start: Date }): string => period_start.toISOString().slice(0, 7)

export const toOverage = ({ overage_enabled, overage_cap_mills }: Terms): z.output<typeof Overage> => ({
  overage_enabled,
  overage_cap: overage_cap_mills === null ? null : dollarsOf(overage_cap_mills),
  overage_rate: dollarsOf(millsPerEmail),
})
