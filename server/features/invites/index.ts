import type { Operation } from '../../operations/define-operation.ts'
import { approveInvite } from './approve-invite.ts'
import { createInvite } from './create-invite.ts'
import { listInvites } from './list-invites.ts'
import { rejectInvite } from './reject-invite.ts'
import { deleteInvite, revokeInvite } from './revoke-invite.ts'

export const inviteOperations: Operation[] = [listInvites, createInvite, approveInvite, rejectInvite, revokeInvite, deleteInvite]

export { decideInvite } from './decide-invite.ts'
export { expireInvites } from './expire-invites.ts'
export { type InviteRow, whyClosed } from './invite.ts'
export { withArticle } from './invite-mail.ts'
export {
  findInvite,
  findInviteTo,
  insertInvite,
  openInvitesTo,
  type ShownInvite,
} from './invite-queries.ts'
export { parseInviteToken } from './invite-token.ts'
export { createInvite, listInvites, revokeInvite }
