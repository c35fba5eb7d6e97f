import type { Operation } from '../../operations/define-operation.ts'
import { getLeaderboard } from './get-leaderboard.ts'
import { getWaitlistStats } from './get-waitlist-stats.ts'
import { inviteEntries } from './invite-entries.ts'
import { joinList } from './join-list.ts'

export const waitlistOperations: Operation[] = [joinList, inviteEntries, getWaitlistStats, getLeaderboard]

export { acceptInvitation, findInvitation } from './accept.ts'
export { findHurdle, type Joined, join } from './join.ts'
export { mailInvitations } from './mail-invitations.ts'
export { remind } from './remind.ts'
export { findWaitlistView, leaveWaitlist, viewOf, type WaitlistView } from './status.ts'
export { tendWaitlists } from './tend-waitlists.ts'
