import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { addressSubject } from '../base/peer-address.ts'
import type { Queryable } from '../database/database.ts'

/** A server that means it comes again; most of what sends spam does not. */
const waitMs = 60_000
/** The second try must come within this, or it counts as a first. RFC 5321 section 4.5.4.1 has senders try for four or five days. */
const secondTryMs = 2 * 24 * 60 * 60_000
/** How long one that has passed stays known after its last mail. */
const knownMs = 36 * 24 * 60 * 60_000

interface Triple {
  sender: string
  recipient: string
  address: string
}

/**
 * RFC 6647 section 2.1: the first mail from a sender to a recipient out of a network is asked to come again, and passes when it does
 * after a minute. Only hashes are kept.
 */
export async function isGreylisted(db: Queryable, triple: Triple, now: Date): Promise<boolean> {
  const [tooOld, oldEnough] = [before(now, secondTryMs), before(now, waitMs)]
  const row = await db.first<{ is_known: boolean }>`
    insert into greylist as known (key, first_at) values (${keyOf(triple)}, ${now})
    on conflict (key) do update set
      first_at = case when known.passed_at is null and known.first_at < ${tooOld} then excluded.first_at else known.first_at end,
      passed_at = case when known.passed_at is not null or known.first_at between ${tooOld} and ${oldEnough} then excluded.first_at end
    returning passed_at is not null as is_known`
  return row?.is_known !== true
}

/** What nobody has come back to, or has not in a while. */
export const pruneGreylist = (db: Queryable, now: Date): Promise<number> => db.run`
  delete from greylist where coalesce(passed_at, first_at) < ${before(now, knownMs)}
    or (passed_at is null and first_at < ${before(now, secondTryMs)})`

/** Large providers send the second try from another machine of the same network. */
const networkOf = (address: string): string => (isIPv6(address) ? addressSubject(address) : address.split('.').slice(0, 3).join('.'))

const keyOf = ({ sender, recipient, address }: Triple): Buffer =>
  createHash('sha256')
    .update([sender.toLowerCase(), recipient.toLowerCase(), networkOf(address)].join('\n'))
    .digest()

const before = (now: Date, ms: number): Date => new Date(now.getTime() - ms)
