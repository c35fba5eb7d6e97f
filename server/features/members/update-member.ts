import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { roles } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { lockProject, passProjectOn } from '../projects/index.ts'
import { Member, MemberParams, refuseLastOwner, refuseLesserKey, refuseOwnerChange } from './member.ts'
import { countOtherOwners, findMember, setRole } from './member-queries.ts'

export const updateMember = defineOperation({
  id: 'members.update',
  method: 'PATCH',
  path: '/members/{id}',
  scope: 'admin',
  summary: 'Give a member another role',
  description: 'Their keys and apps follow within a second. Only an owner may make or unmake owners, and one owner must stay.',
  params: MemberParams,
  // In two steps, so that one that is missing is said to be required.
  body: z.object({ role: z.string().pipe(z.enum(roles)).meta({ enum: roles }) }),
  result: Member,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, body: { role } }) {
    const { project_id } = caller
    return database.transaction(async (tx) => {
      const member = (await lockProject(tx, project_id)) ? await findMember(tx, project_id, params.id) : null
      if (!member) throw notFound('member')
      refuseLesserKey(caller, member.role, role)
      refuseOwnerChange(await findMember(tx, project_id, caller.user_id), member.role, role)
      if (member.role === 'owner' && role !== 'owner') {
        refuseLastOwner('role', await countOtherOwners(tx, project_id, member.id))
        await passProjectOn(tx, project_id, member.id)
      }
      await setRole(tx, project_id, member.id, role)
      return { ...member, role }
    })
  },
})
