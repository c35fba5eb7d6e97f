export { buildLines } from './build-lines.ts'
export { confirmEntry } from './confirm-entry.ts'
export { type Invited, inviteNext, inviteThese } from './invite.ts'
export { enterLine, forgetEntries, leaveLine } from './line.ts'
export {
  changeLine,
  findEntry,
  findEntryByCode,
  findLine,
  hasEntry,
  lockLine,
  type Newcomer,
  type Standing,
  standingsOf,
} from './line-queries.ts'
export { dropUnconfirmed, repairLine } from './tend-lines.ts'
export { WaitlistStatus } from './waiting-line.ts'
