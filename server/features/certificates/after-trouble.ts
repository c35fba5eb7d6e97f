import { type Acme, AcmeProblem } from '../../acme/index.ts'
import { reasonOf } from '../../base/errors.ts'
import type { Services } from '../../operations/context.ts'
import {
  type CertificateRow,
  dayMs,
  hasJustBegun,
  isRepeated,
  laterBy,
  mostFailuresAnHour,
  nextTryAfterFailure,
  nextTryAfterTrouble,
  orderAfter,
} from './certificate.ts'
import { noteHold, setAccountUrl } from './certificate-queries.ts'
import { type Change, clockDiffers, OrderFailed } from './steps.ts'

interface Trouble {
  acme: Acme
  row: CertificateRow
  error: unknown
  now: Date
}

const noOrder = { step: 'idle', ordered: null, order_key: null } as const satisfies Change

/** Nothing that comes of it would be taken by the authority any more, or it has been of no use for so long that another is better. */
export const isRunOut = ({ step, ordered }: CertificateRow, now: Date): boolean =>
  step !== 'idle' && ordered !== null && new Date(ordered.expires_at) <= now

/** Nobody has failed: the owner did not get to it. The next order has another value for the TXT record. */
export function afterRunOut(row: CertificateRow, now: Date): Change {
  if (hasJustBegun(row, now)) throw new OrderFailed(`The order was over as soon as it was placed: ${clockDiffers(now)}`)
  return { ...noOrder, step_since: now, due_at: orderAfter(row, now), problem: row.problem }
}

/** What becomes of an order whose step did not go well: the host's fault, and the next one waits; or nobody's, and the step is taken again. */
export async function afterError(services: Services, trouble: Trouble): Promise<Change> {
  const { error, row, now, acme } = trouble
  if (error instanceof AcmeProblem && error.type === 'accountDoesNotExist')
    await setAccountUrl(services.database, { directory: acme.directoryUrl, url: null })
  // Who forgets the second order as well has another reason.
  const isForgotten = error instanceof AcmeProblem && isLost(error, row) && !(row.step !== 'idle' && isRepeated(row, now))
  const isFailure = error instanceof OrderFailed || (error instanceof AcmeProblem && !error.isPassing && !isForgotten)
  return isFailure ? afterFailure(services, trouble) : afterPassing(services, trouble)
}

function afterFailure({ log }: Services, { row, error, now }: Trouble): Change {
  const failures = row.failures + 1
  const due_at = nextTryAfterFailure(failures, now)
  const reason = reasonOf(error)
  log.warn({ host: row.host, step: row.step, failures, reason, next_try_at: due_at }, 'a certificate could not be ordered')
  const failed_at = [...row.failed_at, now].slice(-mostFailuresAnHour)
  const problem = error instanceof AcmeProblem ? `The certificate authority says: ${reason}` : reason
  return { ...noOrder, step_since: now, due_at, failures, failed_at, troubles: 0, problem }
}

async function afterPassing({ database, log }: Services, { row, error, now }: Trouble): Promise<Change> {
  const troubles = row.troubles + 1
  const told = error instanceof AcmeProblem ? error : null
  const waitMs = told && askedToWaitMs(told)
  const held_until = waitMs === null ? null : laterBy(now, waitMs)
  if (held_until !== null) await noteHold(database, { host: row.host, held_until })
  const due_at = held_until ?? nextTryAfterTrouble(troubles, now)
  const reason = reasonOf(error)
  log.warn({ host: row.host, step: row.step, troubles, reason, next_try_at: due_at }, 'a step of an order is taken again later')
  // What went wrong on our side is for the log alone.
  const problem = told
    ? `The certificate authority cannot help right now, and is asked again by itself: ${reason}`
    : 'Something went wrong on our side. It is tried again by itself.'
  return { ...(told && isLost(told, row) ? { ...noOrder, step_since: now } : {}), troubles, problem, held_until, due_at }
}

const hourMs = 60 * 60_000

/** Null when the authority did not say. Too many requests are an hour, unless it says otherwise. */
function askedToWaitMs({ type, retryAfterMs }: AcmeProblem): number | null {
  if (type === 'rateLimited') return Math.min(retryAfterMs ?? hourMs, 7 * dayMs)
  return retryAfterMs === null ? null : Math.min(retryAfterMs, hourMs)
}

/** What we ask for is not there any more: an authority that began anew, or forgot an order. That says nothing about the host. */
const isLost = ({ type, status }: AcmeProblem, { step }: CertificateRow): boolean =>
  type === 'accountDoesNotExist' || (step !== 'idle' && (status === 404 || type === 'malformed'))
