import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { isDisposable } from '../../mail/disposable-domains.ts'
import type { Services } from '../../operations/context.ts'
import type { ListRow } from '../lists/index.ts'
import { addSubscriber, countAttempt, lockSubscriberByEmail } from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { findSuppression } from '../suppressions/index.ts'
import { findEntryByCode, hasEntry } from '../waiting-lines/index.ts'
import type { JoinStatus } from './waitlist.ts'
import { countTaken } from './waitlist-queries.ts'

export interface Joining {
  list: ListRow
  email: { address: string; key: string }
  name?: string | undefined
  ref?: string | undefined
  source: 'join' | 'form'
  /** A keyed hash of where it comes from; null for the list's own project, which may speak for anybody. */
  from: Buffer | null
}

export type Joined = { status: 'created' | 'exists'; subscriber: SubscriberRow } | { status: 'full' | 'invalid'; reason: Refusal }
type Refusal = 'closed' | 'disposable' | 'suppressed' | 'full'

/** Rolls back what was begun. */
export class Full extends Error {}

type Needs = Pick<Services, 'config' | 'secrets'> & { database: Database }

/** Puts an address on a list at the wish of whoever knows it: they must confirm. Who is on it already is told apart from nobody else here. */
export async function join(services: Needs, joining: Joining): Promise<Joined> {
  const { list, email, from } = joining
  // By itself: whether an attempt counts must not depend on what comes of it, or strangers learn by the limit who is on the list.
  if (from) await services.database.transaction((tx) => countAttempt(services, tx, { list, from, asks_for_mail: true }))
  if (isDisposable(email.key, services.config.DISPOSABLE_DOMAINS)) return refusal('disposable')
  return whileThereIsRoom(services.database, async (tx): Promise<Joined> => {
    if (await findSuppression(tx, list.project_id, email.key)) return refusal('suppressed')
    const key = { project_id: list.project_id, list_id: list.id }
    const before = await lockSubscriberByEmail(tx, { ...key, email_key: email.key })
    const isOn = before?.status === 'active' || before?.status === 'pending'
    if (before && isOn && (list.type !== 'waitlist' || (await hasEntry(tx, key, [before.id]))))
      return { status: 'exists', subscriber: before }
    if (list.waitlist_closed && list.type === 'waitlist') return refusal('closed')
    const referrer = joining.ref && list.type === 'waitlist' ? await findEntryByCode(tx, key, joining.ref) : null
    const { subscriber, isNew } = await addSubscriber(services, tx, {
      list,
      known: { email, name: joining.name?.trim() || undefined },
      verified: false,
      source: joining.source,
      isCounted: from !== null,
      cameBy: { referred_by: referrer?.subscriber_id ?? null, joined_from: from },
    })
    if (isNew) await refuseOverfull(tx, list)
    return { status: isNew ? 'created' : 'exists', subscriber }
  })
}

const refusal = (reason: Exclude<Refusal, 'full'>): Joined => ({ status: 'invalid', reason })

export async function whileThereIsRoom(database: Database, work: (tx: Transaction) => Promise<Joined>): Promise<Joined> {
  try {
    return await database.transaction(work)
  } catch (error) {
    if (!(error instanceof Full)) throw error
    return { status: 'full', reason: 'full' }
  }
}

/** Asked once they stand in the line, which is held by then: of two who come for the last place, one gets it. */
export async function refuseOverfull(tx: Transaction, list: ListRow, { takes_place = true } = {}): Promise<void> {
  if ((await placesLeft(tx, list, tx.now)) < (takes_place ? 0 : 1)) throw new Full()
}

async function placesLeft(db: Queryable, list: ListRow, now: Date): Promise<number> {
  if (list.type !== 'waitlist' || list.waitlist_capacity === null) return Number.POSITIVE_INFINITY
  return list.waitlist_capacity - (await countTaken(db, { project_id: list.project_id, list_id: list.id }, now))
}

/** Why nobody can join just now, whoever they are. */
export async function findHurdle(services: Pick<Services, 'database' | 'clock'>, list: ListRow): Promise<'closed' | 'full' | null> {
  if (list.type === 'waitlist' && list.waitlist_closed) return 'closed'
  return (await placesLeft(services.database, list, services.clock.now())) > 0 ? null : 'full'
}

/** What a caller of another project is told is the same whoever is on the list: the mail tells the rest. */
export async function joinFromElsewhere(services: Needs & Pick<Services, 'clock'>, joining: Joining): Promise<JoinStatus> {
  const hurdle = await findHurdle(services, joining.list)
  if (hurdle) return hurdle === 'full' ? 'full' : 'invalid'
  const joined = await join(services, joining)
  return joined.status === 'exists' || ('reason' in joined && joined.reason === 'suppressed') ? 'created' : joined.status
}
