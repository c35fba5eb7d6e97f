import type { Operation } from '../../operations/define-operation.ts'
import { deleteSession } from './delete-session.ts'
import { deleteSessions } from './delete-sessions.ts'
import { listSessions } from './list-sessions.ts'

export const sessionOperations: Operation[] = [listSessions, deleteSession, deleteSessions]

export { pruneSignIns } from './prune-sign-ins.ts'
export { type FoundSession, findSession, startSession } from './session.ts'
export { findMemberCaller, findSessionCaller, listProjectsOf, type Membership } from './session-caller.ts'
export {
  deleteSession,
  deleteSessionByHash,
  deleteSessions,
  listSessions,
  type SessionRow,
} from './session-queries.ts'
export { type Browser, type SignInOutcome, sendSignInCode, signInWithCode, signInWithLink } from './sign-in.ts'
export { signOut, signOutEverywhere, signOutOf } from './sign-out.ts'
