import { ApiError, notFound } from '../../base/errors.ts'
import { type Caller, standsForPerson } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { lockProject, passProjectOn } from '../projects/index.ts'
import { MemberParams, refuseLastOwner, refuseLesserKey, refuseOwnerChange } from './member.ts'
import { countOtherOwners, findMember, removeMember } from './member-queries.ts'

export const deleteMember = defineOperation({
  id: 'members.delete',
  method: 'DELETE',
  path: '/members/{id}',
  scope: 'any',
  summary: 'Remove a member, or leave',
  description:
    'Removing others needs the scope `admin`; leaving oneself, a credential that may do all that its owner may. Their keys and apps for this project end with it, within a second. Only an owner may remove an owner, and one owner must stay.',
  params: MemberParams,
  status: 204,
  errors: ['not_found', 'validation_error'],

  async run({ database, caller }, { params }) {
    const { project_id } = caller
    const isLeaving = params.id === caller.user_id
    if (isLeaving ? !standsForPerson(caller) : !caller.scopes.includes('admin')) throw refusal(caller, isLeaving)
    await database.transaction(async (tx) => {
      const member = (await lockProject(tx, project_id)) ? await findMember(tx, project_id, params.id) : null
      if (!member) throw notFound('member')
      if (!isLeaving) refuseLesserKey(caller, member.role)
      if (!isLeaving) refuseOwnerChange(await findMember(tx, project_id, caller.user_id), member.role, null)
      if (member.role === 'owner') {
        refuseLastOwner('id', await countOtherOwners(tx, project_id, member.id))
        await passProjectOn(tx, project_id, member.id)
      }
      await removeMember(tx, project_id, member.id)
    })
  },
})

const refusal = ({ scopes }: Caller, isLeaving: boolean): ApiError =>
  new ApiError(
    'forbidden',
    isLeaving
      ? 'This key may do less than you, so it cannot end your membership. Sign in and leave on the team page.'
      : `This key lacks the scope "admin". It has: ${scopes.join(', ') || 'none'}.`,
  )
