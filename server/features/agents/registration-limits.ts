import { ApiError } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import type { OpenContext } from '../../operations/context.ts'
import type { RegistrationKind } from './agent.ts'
import { findLimiting, lockRegistrations } from './registration-queries.ts'

const hourMs = 3_600_000
/** One with an e-mail address has somebody to answer for it. */
const perAddress = { anonymous: 1, email: 12 } as const
const everywhere = { anonymous: 20, email: 200 } as const

/** AGENT_REGISTRATIONS_PER_HOUR, for one network address and for all together. */
export async function refuseTooManyRegistrations({ config, peer }: OpenContext, tx: Transaction, kind: RegistrationKind): Promise<void> {
  await lockRegistrations(tx)
  const unit = config.AGENT_REGISTRATIONS_PER_HOUR
  const since = new Date(tx.now.getTime() - hourMs)
  const limiting = [
    await findLimiting(tx, { kind, ip: peer, since, limit: unit * perAddress[kind] }),
    await findLimiting(tx, { kind, ip: null, since, limit: unit * everywhere[kind] }),
  ].filter((at) => at !== null)
  if (limiting.length === 0) return
  const seconds = Math.max(1, Math.ceil((Math.max(...limiting.map(Number)) + hourMs - tx.now.getTime()) / 1000))
  throw new ApiError('rate_limited', `Too many agents have registered within the hour. Wait ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
