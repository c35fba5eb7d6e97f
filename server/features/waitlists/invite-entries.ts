import { ApiError, notFound } from '../../base/errors.ts'
import { newId, type SubscriberId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findListType, type ListKey, UnderListParams } from '../lists/index.ts'
import { lookAhead, reserveEmails } from '../usage/index.ts'
import { findLine, type Invited, inviteNext, inviteThese, lockLine } from '../waiting-lines/index.ts'
import { mailNow } from './mail-invitations.ts'
import { InviteBody, InviteResult } from './waitlist.ts'
import { countAddresses } from './waitlist-queries.ts'

/** So many in one transaction: others who join meanwhile wait for no more than these. */
const chunk = 5_000

export const inviteEntries = defineOperation({
  id: 'waitlists.invite',
  method: 'POST',
  path: '/lists/{listId}/invite',
  scope: 'write',
  summary: 'Invite people from a waitlist',
  description:
    'Several of `count`, `subscribers` and `all` add up; without any of them nobody is invited. Only who has confirmed is invited, the next by position first, and nobody twice: ids of others are passed over, and `invited` is how many there were. Each gets a mail with a link to accept, counted by the plan: when they do not fit, it is 402 and nobody is invited. Should others use up the plan while thousands are being invited, `invited` is how many it was until then. Beyond a thousand, the mails follow in the background. Accepting fires no event; `waitlist_status` of the subscriber tells.',
  params: UnderListParams,
  body: InviteBody,
  result: InviteResult,
  status: 200,
  errors: ['not_found', 'limit_exceeded', 'spending_cap_reached'],

  async run(context, { params, body: { count, subscribers, all } }) {
    const key = { project_id: context.caller.project_id, list_id: params.listId }
    if ((await findListType(context.database, key)) !== 'waitlist') throw notFound('waitlist')
    const ids = [...new Set(subscribers ?? [])]
    const next = all ? Number.POSITIVE_INFINITY : (count ?? 0)
    await refuseOverPlan(context, key, { ids, next })
    const invited = await inviteAll(context, key, { ids, next })
    if (invited > 0) await mailNow(context, key)
    return { invited }
  },
})

interface Wanted {
  ids: SubscriberId[]
  /** So many of the others, by position. */
  next: number
}

/** Piece by piece. Whoever was invited before the plan was used up by others stays invited, and is counted. */
async function inviteAll(context: Context, key: ListKey, { ids, next }: Wanted): Promise<number> {
  let invited = 0
  try {
    for (let start = 0; start < ids.length; start += chunk) invited += await inviteChunk(context, key, ids.slice(start, start + chunk))
    for (let left = next, some = chunk; left > 0 && some === chunk; left -= some) {
      some = await inviteChunk(context, key, Math.min(chunk, left))
      invited += some
    }
  } catch (error) {
    if (invited === 0 || !(error instanceof OverPlan)) throw error
  }
  return invited
}

class OverPlan extends ApiError {}

/** Before anything is changed: an invitation of thousands that stops in the middle helps nobody. */
async function refuseOverPlan(context: Context, key: ListKey, { ids, next }: Wanted): Promise<void> {
  const line = await findLine(context.database, key)
  const count = Math.min(line?.confirmed ?? 0, ids.length + next)
  if (count === 0) return
  const standing = await lookAhead(context, { project_id: key.project_id, mailbox_id: null, count })
  if (standing.outcome !== 'fits') throw overPlan(context, standing, count)
}

const overPlan = (
  { config }: Context,
  { outcome, excess }: { outcome: 'limit_exceeded' | 'spending_cap_reached'; excess: number },
  count: number,
): OverPlan =>
  new OverPlan(
    outcome,
    `The plan has no room left for this month: ${excess} of ${count} invitations did not fit. Invite fewer, or take a larger plan.`,
    {
      members: { upgrade_url: `${config.API_URL}/billing/subscribe`, enable_overage_url: `${config.API_URL}/settings/overage` },
    },
  )

/** The next so many, or these. Inviting, booking and the note that a mail is due are one transaction. */
async function inviteChunk(context: Context, key: ListKey, who: number | SubscriberId[]): Promise<number> {
  return context.database.transaction(async (tx) => {
    const line = await lockLine(tx, key)
    const invited = typeof who === 'number' ? await inviteNext(tx, line, who) : await inviteThese(tx, line, who)
    if (invited.length === 0) return 0
    await bookMails(context, tx, key, invited)
    return invited.length
  })
}

async function bookMails(context: Context, tx: Transaction, key: ListKey, invited: Invited[]): Promise<void> {
  const count = await countAddresses(
    tx,
    key,
    invited.map(({ subscriber_id }) => subscriber_id),
  )
  if (count === 0) return
  const reserved = await reserveEmails(context, tx, { project_id: key.project_id, mailbox_id: null, reservation_id: newId(), count })
  if (reserved.outcome !== 'reserved') throw overPlan(context, reserved, count)
}
