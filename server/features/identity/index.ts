import type { Operation } from '../../operations/define-operation.ts'
import { getMe } from './get-me.ts'

export const identityOperations: Operation[] = [getMe]

export { bootstrap, type FirstStart } from './bootstrap.ts'
export {
  type CodeOutcome,
  type CodeRequest,
  findCodeAddress,
  findOpenCode,
  hasUsedCode,
  issueCode,
  pruneCodes,
  reopenCode,
  tryCode,
} from './email-code.ts'
export {
  findHomeProject,
  findInstance,
  findOwners,
  findUser,
  findUserByAddress,
  type Instance,
  insertProject,
  insertUser,
  type UserRow,
} from './identity-queries.ts'
export { type Notice, notifyOwner, notifyOwners, sendNotice } from './notice.ts'
export { strangersMay, warnOfOpenDoors } from './open-doors.ts'
export { findOrCreatePerson, freeSlug, mayComeIn, type Person } from './people.ts'
export { isSignInLink, makeSignInLink, pruneSignInLinks, takeSignInLink } from './sign-in-link.ts'
