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

export async function placeOrder(turn: Turn, more: Pick<OpenOrder, 'isAnew' | 'refused'> = {}): Promise<Placed> {
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

type Another = Placed | ({ step: 'idle' } & Pick<CertificateRow, 'due_at' | 'problem' | 'ordered'>)

interface Seen {
  status: Authorization['status']
  /** Of the TXT record, while that is still to be proved. */
  value?: string
}

/**
 * An authority uses again what our account has proved for a host before, or was about to prove (RFC 8555 section 7.1.3), and that may have been another
 * project. Whoever has to show by a TXT record whose the host is gets an order with a proof of its own: the old one is given up, once. Null where there
 * is no need, or no way: then the certificate is issued, and nothing is proved by it.
 */
export async function orderWithOwnProof(turn: Turn, ordered: OpenOrder, { status, value }: Seen): Promise<Another | null> {
  const isOwn = ordered.asked !== undefined || ordered.isAnew === true
  // Given up already: by somebody who did not live to order again, or for whoever had the host before.
  const isGivenUp = status === 'deactivated'
  const isOld = status === 'valid' || (status === 'pending' && (await wasToldBefore(turn)))
  if (isOwn || !(isGivenUp || (mustProve(turn.row) && isOld && (await giveUp(turn, ordered))))) return null
  const allowed_at = await whenOrderAllowed(turn)
  if (allowed_at > turn.now) return { step: 'idle', ordered: null, ...waitForBound(turn, allowed_at) }
  return placeOrder(turn, { isAnew: true, ...(value === undefined ? {} : { refused: value }) })
}

const mustProve = ({ chain, is_proved, challenges }: CertificateRow): boolean =>
  chain === null && !is_proved && !challenges.includes('http-01')

/** Whether the TXT value of an order that is open may be one that somebody else was told, for all that was done about it. */
export const isShared = async (turn: Turn, ordered: OpenOrder, value: string): Promise<boolean> =>
  ordered.isAnew === true ? value === ordered.refused : !turn.row.is_proved && (await wasToldBefore(turn))

/** Whether the host was ordered for a certificate that is gone since: all orders count there, and those of this one are known. */
async function wasToldBefore({ services: { database }, row }: Turn): Promise<boolean> {
  const own = new Set(row.begun_at.map((at) => at.getTime()))
  const bound = await findBound(database, row.host)
  return bound?.begun_at.some((at) => !own.has(at.getTime())) ?? false
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
