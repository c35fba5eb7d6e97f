import { z } from 'zod'
import type { ListId, ProjectId, SubscriberId } from '../../base/ids.ts'

/**
 * The line of a waitlist. An entry waits, is invited, and accepts; who leaves while waiting has no entry any more, and who leaves later
 * has one that is only counted, until they come back. Who waits stands in the
 * order of `place`, a number with gaps: whoever moves up takes one between two others. Nobody's position is stored. It is counted: the
 * buckets before theirs, and who stands before them in it. Whoever changes a line holds its row (`lockLine`), and takes it last, so that
 * nobody waits for each other in a circle: first subscribers, of all the people whom a transaction is about; then the counters of their
 * lists; then the lines. Of several lists, in the order of their ids.
 */
export const WaitlistStatus = z.enum(['waiting', 'invited', 'accepted'])
export type WaitlistStatus = z.output<typeof WaitlistStatus>

export interface LineKey {
  project_id: ProjectId
  list_id: ListId
}

export interface EntryKey extends LineKey {
  subscriber_id: SubscriberId
}

export interface EntryRow extends EntryKey {
  status: WaitlistStatus
  is_confirmed: boolean
  place: number
  referral_code: string
  referral_count: number
  referred_by: SubscriberId | null
  joined_from: Buffer | null
  /** After they were invited: counted, and no more than that. */
  has_left: boolean
  joined_at: Date
}

export interface LineRow extends LineKey {
  last_place: number
  waiting: number
  /** Of those who wait. */
  confirmed: number
  /** Ever; those who have accepted among them. */
  invited: number
  accepted: number
}

/** Between two who join one after the other: twenty people can move in between before anybody's place is written anew. */
export const gap = 2 ** 20
/** Whatever stands before the first bucket belongs to it. */
export const lowestPlace = Number.MIN_SAFE_INTEGER
/** What a position counts one by one; the sum of the other buckets is over in the time of as many. */
export const maxInBucket = 1_000
