import { setTimeout as sleep } from 'node:timers/promises'
import type { ListId, ProjectId } from '../../base/ids.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { type BroadcastKey, countUsed, endBooking, isBeingSent, lockBooking } from './booked-broadcast-queries.ts'
import { countUnbooked, releaseEmails } from './reserve-emails.ts'

const lookEveryMs = 250
const mostLooks = 20

/**
 * After what is being sent was aborted: senders let go of what they have claimed and not begun within a second. What is still on the wire
 * after five counts as sent.
 */
export async function untilLetGo(database: Database, which: { project_id: ProjectId; list_id?: ListId }): Promise<void> {
  for (let looks = 0; looks < mostLooks && (await isBeingSent(database, which)); looks++) await sleep(lookEveryMs)
}

/**
 * Gives back what a broadcast has booked and not used: those who had left before their turn, and those whose delivery failed. Once: the
 * broadcast lets go of its reservation in the same transaction. What was delivered or bounced had left, and counts, also that to people
 * whose joining was under way in the moment of the press, and who were not booked.
 */
export async function releaseUnused(tx: Transaction, key: BroadcastKey): Promise<void> {
  const booking = await lockBooking(tx, key)
  if (!booking?.reservation_id) return
  const { reservation_id, booked } = booking
  const { project_id } = key
  const used = await countUsed(tx, key)
  await endBooking(tx, key, used)
  if (booked > used) await releaseEmails(tx, { project_id, reservation_id, count: booked - used })
  if (used > booked) await countUnbooked(tx, { project_id, reservation_id, count: used - booked })
}
