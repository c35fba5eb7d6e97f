import { type Acme, type AcmeAccount, AcmeProblem, type Authorization, type Order, renewalId } from '../../acme/index.ts'
import type { Services } from '../../operations/context.ts'
import { type CertificateRow, dayMs, earliestOrder, laterBy, mostOrdersAnHour, type OpenOrder } from './certificate.ts'
import { findBound, noteOrder } from './certificate-queries.ts'

/** What a step has to do with; the row is leased to this process. */
export interface Turn {
  services: Services
  acme: Acme
  /** Made with the authority on the first use. */
  account(): Promise<AcmeAccount>
  row: CertificateRow
  now: Date
}

/** Where the authority does not say how long it keeps an order. */
const orderMs = 7 * dayMs

/** By all that was ordered for the host of late, also for a certificate that was forgotten since. */
export async function whenOrderAllowed({ services: { database }, row: { host }, now }: Turn): Promise<Date> {
  const bound = await findBound(database, host)
  return bound ? earliestOrder(bound, now) : now
}

export const waitForBound = ({ row: { host, problem } }: Turn, allowed_at: Date): Pick<CertificateRow, 'due_at' | 'problem'> => ({
  due_at: allowed_at,
  problem: problem ?? `No more certificates can be ordered for ${host} right now. The next order follows by itself.`,
})

type Placed = Pick<CertificateRow, 'ordered' | 'order_key' | 'begun_at'>

export async function placeOrder(turn: Turn, more: Pick<OpenOrder, 'isAnew'> = {}): Promise<Placed> {
  const { services, row, now } = turn
  const order = await askForOrder(turn)
  // Before anything else: whoever has the certificate forgotten at this moment has ordered it all the same.
  await noteOrder(services.database, { host: row.host, now })
  const [authorization] = order.authorizations
  if (authorization === undefined) throw new AcmeProblem('malformedAnswer', 'The order has no authorisation')
  const expires_at = (order.expires ?? laterBy(now, orderMs)).toISOString()
  const ordered: OpenOrder = { url: order.url, authorization, finalize: order.finalize, expires_at, ...more }
  return { ordered, order_key: null, begun_at: [...row.begun_at, now].slice(-mostOrdersAnHour) }
}

async function askForOrder({ acme, account, row: { host, chain } }: Turn): Promise<Order & { url: string }> {
  // RFC 9773 section 5: a renewal that says what it replaces does not count against limits.
  const replaces = chain !== null && (await acme.directory()).renewalInfo !== undefined ? renewalId(chain) : null
  const owner = await account()
  try {
    return await acme.newOrder(owner, { host, replaces })
  } catch (error) {
    if (!(error instanceof AcmeProblem) || replaces === null || !['alreadyReplaced', 'malformed'].includes(error.type)) throw error
    return acme.newOrder(owner, { host })
  }
}

/**
 * An authority uses again what our account has proved for a host before (RFC 8555 section 7.1.3), and that may have been another project. Whoever
 * has to show by a TXT record whose the host is gets an order with a proof of its own: the old one is given up, once. Null where there is no need,
 * or no way: then the certificate is issued, and nothing is proved by it.
 */
export async function orderWithOwnProof(
  turn: Turn,
  ordered: OpenOrder,
  { status }: Pick<Authorization, 'status'>,
): Promise<Placed | ({ step: 'idle' } & Pick<CertificateRow, 'due_at' | 'problem' | 'ordered'>) | null> {
  const { row, now } = turn
  const mustProve = row.chain === null && !row.is_proved && !row.challenges.includes('http-01')
  const isOwn = ordered.asked !== undefined || ordered.isAnew === true
  // Given up already, by somebody who did not live to order again.
  const isGivenUp = status === 'deactivated'
  if (!mustProve || isOwn || !(isGivenUp || (status === 'valid' && (await giveUp(turn, ordered))))) return null
  const allowed_at = await whenOrderAllowed(turn)
  if (allowed_at > now) return { step: 'idle', ordered: null, ...waitForBound(turn, allowed_at) }
  return placeOrder(turn, { isAnew: true })
}

/** False for an authority that does not let go of it. */
async function giveUp({ acme, account }: Turn, { authorization }: OpenOrder): Promise<boolean> {
  const owner = await account()
  try {
    await acme.deactivate(owner, authorization)
    return true
  } catch (error) {
    if (!(error instanceof AcmeProblem) || error.isPassing || error.type === 'accountDoesNotExist') throw error
    return false
  }
}
