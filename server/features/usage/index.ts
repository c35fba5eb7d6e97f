import type { Operation } from '../../operations/define-operation.ts'
import { getUsage } from './get-usage.ts'

export const usageOperations: Operation[] = [getUsage]

export { pageUnreleased, unreleasedOf } from './booked-broadcast-queries.ts'
export { releaseUnused, untilLetGo } from './release-unused.ts'
export {
  type Allowance,
  type Booking,
  creditEmails,
  lookAhead,
  type Reserved,
  releaseEmails,
  reservedWithinPlan,
  reserveEmails,
} from './reserve-emails.ts'
export { findPeriod, findTerms, pruneReservations, setPlan } from './usage-queries.ts'
