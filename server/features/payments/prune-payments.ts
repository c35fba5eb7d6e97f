import type { Queryable } from '../../database/database.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { pruneReservations } from '../usage/index.ts'
import { pruneChallenges } from './payment-queries.ts'

/** A key that nobody has used for a day is forgotten (one that is under way is younger). */
const pruneIdempotencyKeys = (db: Queryable, now: Date) => db.run`
  delete from idempotency_keys where (project_id, key) in (
    select project_id, key from idempotency_keys where created_at < ${now}::timestamptz - interval '24 hours' limit 5000)`

/** Every night: challenges that nobody will answer, bookings of sends long over, repeats that nobody will send. */
export const prunePayments = defineJob<object>({
  name: 'payments.prune',
  schedule: '10 4 * * *',
  async run({ database, clock }: Services) {
    for (const prune of [pruneChallenges, pruneReservations, pruneIdempotencyKeys]) while ((await prune(database, clock.now())) > 0);
  },
})
