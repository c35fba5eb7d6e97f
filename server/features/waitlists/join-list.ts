import { notFound } from '../../base/errors.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findUser } from '../identity/index.ts'
import { findListOfAnyProject, type ListRow, UnderListParams } from '../lists/index.ts'
import { standingsOf } from '../waiting-lines/index.ts'
import { type Joined, join, joinFromElsewhere } from './join.ts'
import { joinAsAgent } from './join-as-agent.ts'
import { JoinBody, JoinResult } from './waitlist.ts'
import { isClaimed } from './waitlist-queries.ts'
import { referralUrl } from './waitlist-token.ts'

export const joinList = defineOperation({
  id: 'waitlists.join',
  method: 'POST',
  path: '/lists/{listId}/join',
  scope: 'any',
  summary: 'Join a waitlist, or subscribe to another list, of whichever project',
  description:
    'With `email` the person gets a confirmation mail and holds a place from now on; without it, an agent joins as itself, is active at once, and an invited one accepts by joining again; `ref` is ignored there, because agents move nobody up. An agent that no human has claimed takes none of the places of `waitlist_capacity`, and joins only while one is left. `exists`: on the list already, with the same position. `full`: `waitlist_capacity` is reached. `invalid`: the address is suppressed or throw-away, or the list is closed. On a list that is no waitlist, `position` and `referral_url` are null. A caller of another project who gives an `email` is always told `created` and null for the rest, whether or not the address is on the list or suppressed: what a person is on is theirs to tell, and so is their referral link; their mail has it. A `name` that such a caller gives stays on the subscriber, and becomes the contact’s when they confirm, if it has none. Every such attempt counts towards the limit of an hour (`JOINS_PER_HOUR`, then 429), whatever comes of it, and towards that of a day: strangers, on the page and with keys of other projects, may together try as often in a day as the plan of the list’s project has e-mails in a month, and a quarter of it from one place. An agent that no human has claimed counts by its network address. Of agents that join as themselves, those that are put on the list count, for the hour.',
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
    const joining = { list, email, name, ref, source: 'join' as const }
    if (list.project_id === caller.project_id) return resultOf(context, list, await join(context, { ...joining, from: null }))
    const from = secrets.mac('waitlist_peer', await placeOf(context))
    return { ...nothing, status: await joinFromElsewhere(context, { ...joining, from }) }
  },
})

/** Agents that no human has claimed cost nothing, and are many projects: they are counted by where they come from. */
async function placeOf({ database, caller, peer }: Context): Promise<string> {
  const user = await findUser(database, caller.user_id)
  return user?.kind !== 'agent' || (await isClaimed(database, caller.user_id)) ? `project:${caller.project_id}` : peer
}

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
