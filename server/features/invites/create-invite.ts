import { ApiError, invalid, notFound } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import type { Caller, Role } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findMember, isMemberAddress } from '../members/index.ts'
import { mayGive, refuseLesserKey } from '../members/member.ts'
import { lockProject } from '../projects/index.ts'
import { hasExpired, NewInvite, ProjectInvite } from './invite.ts'
import { isMailDue, mailInvite, withArticle } from './invite-mail.ts'
import { countInvites, insertInvite, lockOpenInvite, setStatus } from './invite-queries.ts'

const maxOpen = 100
const maxPerDay = 100

export const createInvite = defineOperation({
  id: 'invites.create',
  method: 'POST',
  path: '/invites',
  scope: 'admin',
  summary: 'Invite somebody to the project by mail',
  description:
    'Whoever is invited already gets the same invite, and the mail once more if it is a day old. An invite is good for 14 days. One project has at most 100 open, one member makes at most 100 a day, and one address gets at most 5 of these mails a day.',
  body: NewInvite,
  result: ProjectInvite,
  status: 201,
  errors: [],

  async run(services, { body: { email, role } }) {
    const { database, caller } = services
    const { project_id, user_id } = caller
    return database.transaction(async (tx) => {
      if (!(await lockProject(tx, project_id))) throw notFound('project')
      const open = await lockOpenInvite(tx, project_id, email.key)
      if (open && !hasExpired(open, tx.now)) {
        if (role !== undefined && role !== open.role)
          throw invalid('role', `cannot be changed: this address is invited as ${withArticle(open.role)}. Revoke that invite first`)
        if (isMailDue(open, tx.now)) await mailInvite(services, tx, open)
        return open
      }
      if (open) await setStatus(tx, open, 'revoked')
      const wanted = role ?? 'editor'
      await refuseRole(tx, caller, wanted)
      if (await isMemberAddress(tx, project_id, email.key)) throw invalid('email', 'is a member already; change their role instead')
      await refuseTooMany(tx, caller)
      const invite = await insertInvite(tx, {
        project_id,
        user_id,
        email: email.address,
        email_key: email.key,
        role: wanted,
        source: 'team',
      })
      await mailInvite(services, tx, invite)
      return invite
    })
  },
})

/** Asked anew, under the lock: the caller's role may have changed a moment ago. */
async function refuseRole(tx: Transaction, caller: Caller, role: Role): Promise<void> {
  refuseLesserKey(caller, role)
  if (mayGive((await findMember(tx, caller.project_id, caller.user_id))?.role, role)) return
  throw new ApiError('forbidden', `role: you cannot make somebody ${withArticle(role)} of this project. Ask an owner.`)
}

async function refuseTooMany(tx: Transaction, { project_id, user_id }: Caller): Promise<void> {
  const { open, made } = await countInvites(tx, { project_id, user_id, now: tx.now })
  if (open >= maxOpen)
    throw invalid('email', `cannot be invited: ${maxOpen} invites of this project are open. Revoke some, or wait until they are answered`)
  if (made < maxPerDay) return
  throw new ApiError('rate_limited', `email: you have invited ${maxPerDay} people within a day. Try again tomorrow.`, {
    headers: { 'retry-after': '86400' },
  })
}
