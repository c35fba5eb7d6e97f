import { invalid } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Context } from '../../operations/context.ts'
import { meetAgent } from '../contacts/index.ts'
import { findUser } from '../identity/index.ts'
import { changeCounts, type ListRow } from '../lists/index.ts'
import { countAttempt, insertSubscriber, lockSubscriberOfContact, saveSubscriber } from '../subscribers/index.ts'
import { type SubscriberRow, subscriberEventData } from '../subscribers/subscriber.ts'
import { enterLine, findEntry } from '../waiting-lines/index.ts'
import { acceptEntry } from './accept.ts'
import { type Joined, refuseOverfull, whileThereIsRoom } from './join.ts'
import { isClaimed } from './waitlist-queries.ts'

/**
 * An agent joins as itself: it has no mailbox that would have to confirm, so it is active at once, and once for each agent. It moves nobody
 * up: agents cost nothing. For the same reason one network address brings only so many an hour, and one that no human has claimed takes none
 * of the places that there are. It gets no mail either, so that an invited one accepts by joining again.
 */
export async function joinAsAgent(context: Context, list: ListRow, name: string | undefined): Promise<Joined> {
  const { database, caller, secrets, peer } = context
  const agent = await findUser(database, caller.user_id)
  if (agent?.kind !== 'agent') throw invalid('email', 'is required: only an agent can join as itself')
  const takes_place = await isClaimed(database, caller.user_id)
  return whileThereIsRoom(database, async (tx): Promise<Joined> => {
    const key = { project_id: list.project_id, list_id: list.id }
    const contact = await meetAgent(tx, { project_id: list.project_id, agent_id: caller.user_id, name: name?.trim() || agent.name })
    const before = await lockSubscriberOfContact(tx, { ...key, contact_id: contact.id })
    const entry = before && (await findEntry(tx, { ...key, subscriber_id: before.id }))
    if (before?.status === 'active' && (entry || list.type !== 'waitlist')) {
      if (entry?.status === 'invited') await acceptEntry(tx, { ...key, subscriber_id: before.id })
      return { status: 'exists', subscriber: before }
    }
    if (list.waitlist_closed && list.type === 'waitlist') return { status: 'invalid', reason: 'closed' }
    if (list.project_id !== caller.project_id)
      await countAttempt(context, tx, { list, from: secrets.mac('waitlist_peer', peer), asks_for_mail: false })
    const subscriber = before ? await comeBack(tx, before) : await begin(tx, list, { contact_id: contact.id, name: contact.name })
    if (list.type === 'waitlist') await enterLine(tx, key, [{ subscriber_id: subscriber.id, is_confirmed: true, takes_place }])
    await refuseOverfull(tx, list, { takes_place })
    return { status: 'created', subscriber }
  })
}

async function begin(tx: Transaction, list: ListRow, who: Pick<SubscriberRow, 'contact_id' | 'name'>): Promise<SubscriberRow> {
  const key = { project_id: list.project_id, list_id: list.id }
  const made = await insertSubscriber(tx, { ...key, ...who, email: null, email_key: null, status: 'active', source: 'agent' })
  const subscriber = made as SubscriberRow // without an address there is nothing to clash with; the contact is held
  await publish(tx, key.project_id, 'subscriber.created', subscriberEventData(subscriber))
  await changeCounts(tx, key, { active: 1 })
  return subscriber
}

async function comeBack(tx: Transaction, before: SubscriberRow): Promise<SubscriberRow> {
  if (before.status === 'active') return before
  const subscriber = (await saveSubscriber(tx, { ...before, status: 'active', subscribed_at: tx.now })) as SubscriberRow
  await publish(tx, before.project_id, 'subscriber.confirmed', subscriberEventData(subscriber))
  await changeCounts(tx, before, { [before.status]: -1, active: 1 })
  return subscriber
}
