import type { ListId, ProjectId, SubscriberId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { contactValues } from '../../delivery/control.ts'
import type { Recipient } from '../../mail/compile/index.ts'

/** Previews and test copies belong to nobody's subscription: their links have the right form and open nothing. */
const noToken = 'preview'
const noTokens: Recipient['tokens'] = { click: noToken, open: noToken, unsubscribe: noToken, return_path: noToken }

/** Somebody of whom only the address is known. */
export const readerAt = (email: string): Recipient => ({
  tokens: noTokens,
  email,
  name: null,
  message_id: noToken,
  values: { contact: {} },
})

export const someReader = readerAt('reader@example.org')

interface ReaderRow {
  email: string
  name: string | null
  /** What merge tags may say of the person: `{{ contact.city }}`, `{{ contact.metadata.plan }}`. */
  contact: Record<string, unknown>
}

interface ListKey {
  project_id: ProjectId
  list_id: ListId
}

export async function findReader(db: Queryable, key: ListKey & { subscriber_id: SubscriberId }): Promise<Recipient | null> {
  const row = await db.first<ReaderRow>`
    select s.email, s.name, ${contactValues} as contact
    from subscribers s join contacts c on c.project_id = s.project_id and c.id = s.contact_id
    where s.project_id = ${key.project_id} and s.list_id = ${key.list_id} and s.id = ${key.subscriber_id} and s.email is not null`
  return row && toReader(row)
}

/** The first of those whom a post would go to. */
export async function findFirstReader(db: Queryable, key: ListKey): Promise<Recipient | null> {
  const row = await db.first<ReaderRow>`
    select s.email, s.name, ${contactValues} as contact
    from subscribers s join contacts c on c.project_id = s.project_id and c.id = s.contact_id
    where s.project_id = ${key.project_id} and s.list_id = ${key.list_id} and s.status = 'active' and s.email is not null order by s.id limit 1`
  return row && toReader(row)
}

const toReader = ({ email, name, contact }: ReaderRow): Recipient => ({ ...readerAt(email), name, values: { contact } })
