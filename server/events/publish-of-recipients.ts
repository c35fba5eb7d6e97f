import {
  type BroadcastId,
  type ContactId,
  type DeliveryId,
  formatId,
  type ListId,
  type MailboxId,
  type PostId,
  type ProjectId,
  type SubscriberId,
} from '../base/ids.ts'
import type { Queryable, Transaction } from '../database/database.ts'
import type { EventData, EventType } from './catalogue.ts'
import { asShared, type Bulk, type BulkOfType, publishBulks } from './publish.ts'

/** One recipient's copy of a broadcast, as the ledger has it. */
export interface Copy {
  project_id: ProjectId
  id: DeliveryId
  broadcast_id: BroadcastId
  subscriber_id: SubscriberId
  contact_id: ContactId
  email: string
}

/** What became of copies. `url`: the link that was followed. `bounce`: why it did not arrive. */
export interface CopyEvent<Type extends EventType = EventType & `email.${string}`> {
  type: Type
  copy: Copy
  url?: string
  bounce?: EventData<'email.bounced'>['bounce']
}

/**
 * Events of many recipients: a row of the outbox for each broadcast and type, and one statement for all rows, however many people they
 * are about.
 */
export async function publishOfRecipients(tx: Transaction, events: CopyEvent[]): Promise<void> {
  if (events.length === 0) return
  const sources = new Map((await findSources(tx, events)).map((source) => [source.id, source]))
  const bulks: BulkOfType[] = []
  const known = new Map<Copy, string[]>()
  for (const some of Map.groupBy(events, ({ type, copy }) => `${type} ${copy.broadcast_id}`).values()) {
    const { copy, type } = some[0] as CopyEvent // no group is empty
    const source = sources.get(copy.broadcast_id)
    // Without one, the project is being purged: nobody is left to be told.
    if (source) bulks.push({ project_id: copy.project_id, type, bulk: bulkOf(source, some, known) })
  }
  await publishBulks(tx, bulks)
}

interface Source {
  id: BroadcastId
  list_id: ListId
  post_id: PostId
  /** Null when the list is gone. */
  mailbox_id: MailboxId | null
  from_address: string
  subject: string
  message_id_domain: string
}

const findSources = (db: Queryable, events: CopyEvent[]) => db.many<Source>`
  select b.id, b.list_id, b.post_id, l.mailbox_id, coalesce(b.source->'post'->>'subject', '') as subject,
    coalesce(b.source->'frame'->'from'->>'address', '') as from_address,
    coalesce(b.source->'frame'->>'message_id_domain', '') as message_id_domain
  from broadcasts b left join lists l on l.project_id = b.project_id and l.id = b.list_id and l.deleted_at is null
  where (b.project_id, b.id) in (
    select * from unnest(${events.map(({ copy }) => copy.project_id)}::uuid[], ${events.map(({ copy }) => copy.broadcast_id)}::uuid[]))`

/** The same data that `recipientEventData` gives of one recipient. */
function bulkOf(source: Source, events: CopyEvent[], known: Map<Copy, string[]>): Bulk {
  const extra = extraOf(events)
  return {
    template: {
      email_id: '$0',
      mailbox_id: source.mailbox_id && formatId('mbx', source.mailbox_id),
      list_id: formatId('lst', source.list_id),
      post_id: formatId('post', source.post_id),
      subscriber_id: '$1',
      contact_id: '$2',
      from: asShared(source.from_address),
      to: '$3',
      subject: asShared(source.subject),
      message_id: '$4',
      tag: null,
      metadata: {},
      // Each has the whole of what it tells: there is nothing more of a copy to be shown.
      email: null,
      ...extra.template,
    },
    rows: events.map((event) => {
      const words = known.get(event.copy) ?? wordsOf(source, event.copy)
      known.set(event.copy, words)
      return extra.words ? [...words, ...extra.words(event)] : words
    }),
  }
}

interface Extra {
  template: object
  /** What differs beside what differs anyway, from the fifth place on. */
  words?(event: CopyEvent): (string | null)[]
}

/** What some types have and others have not. The events of a bulk are of one type. */
function extraOf([first]: CopyEvent[]): Extra {
  switch (first?.type) {
    case 'email.opened':
      return { template: { is_machine: false } }
    case 'email.clicked':
      return { template: { url: '$5', is_machine: false }, words: ({ url }) => [url ?? null] }
    case 'email.bounced':
      return {
        template: { bounce: { kind: '$5', smtp_code: '$#6', enhanced_code: '$7', reason: '$8' } },
        words: ({ bounce }) => [
          bounce?.kind ?? 'soft',
          bounce?.smtp_code?.toString() ?? null,
          bounce?.enhanced_code ?? null,
          bounce?.reason ?? null,
        ],
      }
    default:
      return { template: {} }
  }
}

/** What differs from one copy to the next. Ids take most of the time, so a copy that several events are about has them made once. */
function wordsOf({ message_id_domain }: Source, { id, subscriber_id, contact_id, email }: Copy): string[] {
  const email_id = formatId('eml', id)
  return [
    email_id,
    formatId('sub', subscriber_id),
    formatId('con', contact_id),
    email,
    `dlv${email_id.slice('eml'.length)}@${message_id_domain}`,
  ]
}
