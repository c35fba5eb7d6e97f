export { findSession, startSession } from './session.ts'
export {
  deleteSession,
  deleteSessionByHash,
  deleteSessions,
  listSessions,
  pruneSessions,
  type SessionRow,
} from './session-queries.ts'
