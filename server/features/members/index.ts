import type { Operation } from '../../operations/define-operation.ts'
import { deleteMember } from './delete-member.ts'
import { listMembers } from './list-members.ts'
import { updateMember } from './update-member.ts'

export const memberOperations: Operation[] = [listMembers, updateMember, deleteMember]

export { findMember, insertMember, isMemberAddress } from './member-queries.ts'
export { deleteMember, listMembers, updateMember }
