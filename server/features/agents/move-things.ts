import type { Transaction } from '../../database/database.ts'
import { joinInterests } from '../../events/interests.ts'
import { publish } from '../../events/publish.ts'
import { moveCertificates } from '../certificates/index.ts'
import { groupEventData } from '../contact-groups/contact-group.ts'
import { findList } from '../lists/index.ts'
import { toListDetail } from '../lists/list.ts'
import { toMailboxDetail } from '../mailboxes/index.ts'
import { joinSuppressions } from '../suppressions/index.ts'
import { moveWebhooks } from '../webhooks/index.ts'
import {
  joinContactGroups,
  joinContacts,
  joinUsage,
  type Move,
  moveDeliveries,
  moveLists,
  moveListThings,
  moveMail,
  moveMailboxes,
  movePosts,
} from './merge-queries.ts'

import { moveSenders } from './move-senders.ts'

/** What becomes of each table that belongs to a project. A test holds this against the database: a new table cannot be forgotten. */
export const tablesOfProject: Record<string, 'moves' | 'joins' | 'stays'> = {
  api_keys: 'moves',
  mailboxes: 'moves',
  lists: 'moves',
  list_counters: 'moves',
  list_days: 'moves',
  list_activity: 'moves',
  list_activity_hours: 'moves',
  subscribers: 'moves',
  waitlist_lines: 'moves',
  waitlist_entries: 'moves',
  waitlist_buckets: 'moves',
  waitlist_referrals: 'moves',
  posts: 'moves',
  broadcasts: 'moves',
  deliveries: 'moves',
  broadcast_links: 'moves',
  broadcast_hours: 'moves',
  messages: 'moves',
  emails: 'moves',
  inbound_spool: 'moves',
  usage_reservations: 'moves',
  payment_challenges: 'moves',
  calendar_events: 'moves',
  proxy_addresses: 'moves',
  erasures: 'moves',
  webhooks: 'moves',
  webhook_deliveries: 'moves',
  webhook_queues: 'moves',
  webhook_masses: 'moves',
  certificates: 'moves',
  site_domains: 'moves',
  site_hosts: 'moves',
  // Both sides may have a row of the same key.
  contacts: 'joins',
  project_counters: 'joins',
  former_addresses: 'joins',
  contact_groups: 'joins',
  contact_group_members: 'joins',
  suppressions: 'joins',
  usage_periods: 'joins',
  idempotency_keys: 'joins',
  event_interests: 'joins',
  sender_domains: 'joins',
  dkim_keys: 'joins',
  warm_ups: 'joins',
  // What happened, happened there.
  list_joins: 'stays',
  post_views: 'stays',
  post_likes: 'stays',
  events: 'stays',
  audit_log: 'stays',
  agent_registrations: 'stays',
  // Only an admin can make these, and the key of an agent that nobody has claimed is none.
  members: 'stays',
  invites: 'stays',
  oauth_grants: 'stays',
  billing_accounts: 'stays',
}

/** Can be done again: whatever is there moves. Mailboxes, groups and lists that arrive are told of, as if they had been made there. */
export async function moveThings(tx: Transaction, move: Move): Promise<void> {
  const mailboxes = await moveMailboxes(tx, move)
  const lists = await moveLists(tx, move)
  await moveSenders(tx, move)
  await movePosts(tx, move)
  await joinContacts(tx, move)
  const groups = await joinContactGroups(tx, move)
  await moveListThings(tx, move)
  await moveDeliveries(tx, move)
  await joinSuppressions(tx, move)
  await moveMail(tx, move)
  await joinUsage(tx, move)
  await joinInterests(tx, move)
  await moveWebhooks(tx, move)
  await moveCertificates(tx, move)
  for (const mailbox of mailboxes)
    await publish(tx, move.to, 'mailbox.created', { mailbox_id: mailbox.id, mailbox: toMailboxDetail(mailbox) })
  for (const { group, is_new } of groups)
    await publish(tx, move.to, is_new ? 'contact_group.created' : 'contact_group.updated', groupEventData(group))
  for (const { id } of lists) {
    const list = toListDetail((await findList(tx, { project_id: move.to, list_id: id }))!, tx.now) // moved above, with its mailbox
    await publish(tx, move.to, 'list.created', { list_id: id, list })
  }
}
