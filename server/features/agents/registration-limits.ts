import { ApiError } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import type { OpenContext } from '../../operations/context.ts'
import type { RegistrationKind } from './agent.ts'
import { findLimiting, lockRegistrations } from './registration-queries.ts'

const hourMs = 3_600_000
/** One with an e-mail address has somebody to answer for it. */
const perKind = { anonymous: 1, email: 12 } as const
const everywhere = 20

/** AGENT_REGISTRATIONS_PER_HOUR, for one network address and for all together. */
export async function refuseTooManyRegistrations({ config, peer }: OpenContext, tx: Transaction, kind: RegistrationKind): Promise<void> {
  await lockRegistrations(tx)
  const limit = config.AGENT_REGISTRATIONS_PER_HOUR * perKind[kind]
  const since = new Date(tx.now.getTime() - hourMs)
  const limiting = [
    await findLimiting(tx, { kind, ip: peer, since, limit }),
    await findLimiting(tx, { kind, ip: null, since, limit: limit * everywhere }),
  ].filter((at) => at !== null)
  if (limiting.length === 0) return
  const seconds = Math.max(1, Math.ceil((Math.max(...limiting.map(Number)) + hourMs - tx.now.getTime()) / 1000))
  throw new ApiError('rate_limited', `Too many agents have registered within the hour. Wait ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
