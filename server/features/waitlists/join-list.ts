import { notFound } from '../../base/errors.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findListOfAnyProject, type ListRow, UnderListParams } from '../lists/index.ts'
import { standingsOf } from '../waiting-lines/index.ts'
import { type Joined, type Joining, join, joinFromElsewhere } from './join.ts'
import { joinAsAgent } from './join-as-agent.ts'
import { JoinBody, JoinResult } from './waitlist.ts'
import { referralUrl } from './waitlist-token.ts'

export const joinList = defineOperation({
  id: 'waitlists.join',
  method: 'POST',
  path: '/lists/{listId}/join',
  scope: 'any',
  summary: 'Join a waitlist, or subscribe to another list, of whichever project',
  description:
    'With `email` the person gets a confirmation mail and holds a place from now on; without it, an agent joins as itself, is active at once, and an invited one accepts by joining again. `exists`: on the list already, with the same position. `full`: `waitlist_capacity` is reached. `invalid`: the address is suppressed or throw-away, or the list is closed. On a list that is no waitlist, `position` and `referral_url` are null. A caller of another project who gives an `email` is always told `created` and null for the rest, whether or not the address is on the list or suppressed: what a person is on is theirs to tell, and so is their referral link; their mail has it.',
  params: UnderListParams,
  body: JoinBody,
  result: JoinResult,
  status: 200,
  errors: ['not_found'],

  async run(context, { params, body }) {
    const list = await findListOfAnyProject(context.database, params.listId)
    if (!list) throw notFound('list')
    const { email, name, ref } = body
    if (email === undefined) return resultOf(context, list, await joinAsAgent(context, list, name))
    const { caller, secrets } = context
    const isOwn = list.project_id === caller.project_id
    const from = isOwn ? null : secrets.mac('waitlist_peer', `project:${caller.project_id}`)
    const joining: Joining = { list, email, name, ref, source: 'join', from, joined_by: isOwn ? null : caller.project_id }
    if (isOwn) return resultOf(context, list, await join(context, joining))
    return { ...nothing, status: await joinFromElsewhere(context, joining) }
  },
})

const nothing = { subscriber_id: null, position: null, referral_url: null }

async function resultOf(context: Context, list: ListRow, joined: Joined) {
  if ('reason' in joined) return { ...nothing, status: joined.status }
  const { status, subscriber } = joined
  const [standing] = list.type === 'waitlist' ? await standingsOf(context.database, subscriber, [subscriber.id]) : []
  return {
    status,
    subscriber_id: subscriber.id,
    position: standing?.position ?? null,
    referral_url: standing ? referralUrl(context, list, standing.referral_code) : null,
  }
}
