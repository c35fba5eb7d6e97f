import type { ContactId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { ContactRow } from '../contacts/contact.ts'
import { keepFormerAddress } from '../contacts/index.ts'
import type { Subscription } from './preferences.ts'

export interface ContactKey {
  project_id: ProjectId
  contact_id: ContactId
}

const maxLists = 200

/** By list: whoever changes several takes them in this order. */
export const subscriptionsOf = (db: Queryable, { project_id, contact_id }: ContactKey) => db.many<Subscription>`
  select s.list_id, s.id as subscriber_id, l.name, l.type, s.status, s.subscribed_at, s.unsubscribed_at, s.paused_until
  from subscribers s join lists l on l.project_id = s.project_id and l.id = s.list_id
  where s.project_id = ${project_id} and s.contact_id = ${contact_id} and l.deleted_at is null and s.email is not null
  order by s.list_id limit ${maxLists}`

/** On all lists at once; null ends it. */
export const savePause = (tx: Transaction, { project_id, contact_id }: ContactKey, until: Date | null) => tx.run`
  update subscribers set paused_until = ${until}
  where project_id = ${project_id} and contact_id = ${contact_id} and status = 'active'`

/** One person with another address: what is known of them stays, on whichever list. That the old mailbox was full says nothing of the new one. */
export async function moveAddress(tx: Transaction, contact: ContactRow, { address, key }: { address: string; key: string }): Promise<void> {
  const { project_id, id } = contact
  await keepFormerAddress(tx, contact, key)
  await tx.run`
    update contacts set email = ${address}, email_key = ${key}, soft_bounced_on = '{}', updated_at = ${tx.now} where project_id = ${project_id} and id = ${id}`
  await tx.run`
    update subscribers set email = ${address}, email_key = ${key} where project_id = ${project_id} and contact_id = ${id}`
}
