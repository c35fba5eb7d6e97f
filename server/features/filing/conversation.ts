import { type DeliveryId, type EmailId, type ProjectId, parseId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { addressKey } from '../../mail/address.ts'
import { findRecipients } from '../recipients/index.ts'
import { findRelated, type MailName, newestWith, type RecentMail, type RelatedMail } from './conversation-queries.ts'
import type { FiledMail, Original } from './filed-mail.ts'
import { isByPerson, writerOf } from './inbound-mail.ts'

/** Which conversation a mail belongs to, and which mail of ours it answers. */
export interface Conversation {
  thread_id: string
  original: Original | null
  /** A mail that nobody had answered yet: it begins the thread, which is called by its id. */
  begins: RelatedMail | null
}

type Unplaced = Pick<FiledMail, 'id' | 'mail' | 'mailbox' | 'answers' | 'applied'>

/**
 * By the ids that the mail names, nearest first; else by its subject and who writes, when it says that it is a reply (RFC 5322 section
 * 3.6.4 asks programs to name the ids, and some do not). A thread is called by the id of its first mail.
 */
export async function findConversations(db: Queryable, mails: Unplaced[], since: Date): Promise<Conversation[]> {
  const known = await findNamed(db, mails)
  // Several of one conversation may be filed at once.
  const inBatch = new Map<string, string>()
  const found: Conversation[] = []
  for (const mail of mails) {
    const { project_id, id: mailbox_id } = mail.mailbox
    const names = namesIn(mail)
    // Whose return path it came to is the last resort: it has no name of its own there.
    const answered = mail.answers?.kind === 'email' ? known.mail(project_id, mail.answers.id) : undefined
    const candidates = [...names.flatMap((name) => known.mails(project_id, name)), ...(answered ? [answered] : [])]
    const parent = candidates.find((one) => one.mailbox_id === mailbox_id) ?? null
    const companion = names.map((name) => inBatch.get(`${mailbox_id} ${name}`)).find((thread) => thread !== undefined)
    const named = parent?.thread_id ?? parent?.id ?? companion
    const alike = named === undefined ? await findBySubject(db, mail, since) : []
    const thread_id = named ?? alike[0]?.thread_id ?? mail.id
    const { message_id } = mail.mail.parsed
    if (message_id) inBatch.set(`${mailbox_id} ${message_id}`, thread_id)
    found.push({ thread_id, original: originalOf(mail, known, alike), begins: parent?.thread_id === null ? parent : null })
  }
  return found
}

/** What it answers, then what that answers, and so on. */
function namesIn({ mail: { parsed } }: Pick<Unplaced, 'mail'>): string[] {
  const names = [...parsed.references].reverse()
  return [...new Set(parsed.in_reply_to === null ? names : [...names, parsed.in_reply_to])]
}

/** Message-IDs of ours tell which row they are of. */
function ownIdIn<Prefix extends 'eml' | 'dlv'>(prefix: Prefix, name: string) {
  const at = name.indexOf('@')
  return at < 0 ? null : parseId(prefix, name.slice(0, at))
}

interface Named {
  /** Those that a name stands for, in a project. */
  mails(project_id: ProjectId, name: string): RelatedMail[]
  mail(project_id: ProjectId, id: EmailId): RelatedMail | undefined
  copy(project_id: ProjectId, id: DeliveryId): Copy | undefined
}
type Copy = Awaited<ReturnType<typeof findRecipients>>[number]

async function findNamed(db: Queryable, mails: Unplaced[]): Promise<Named> {
  const named: MailName[] = []
  const emails: { project_id: ProjectId; id: EmailId }[] = []
  const copies: { project_id: ProjectId; id: DeliveryId }[] = []
  for (const one of mails) {
    const { project_id } = one.mailbox
    for (const name of namesIn(one)) {
      const [email, copy] = [ownIdIn('eml', name), ownIdIn('dlv', name)]
      if (copy) copies.push({ project_id, id: copy })
      else named.push({ project_id, message_id: name })
      if (email) emails.push({ project_id, id: email })
    }
    if (one.answers?.kind === 'email') emails.push(one.answers)
    if (one.answers?.kind === 'delivery') copies.push(one.answers)
  }
  const related = named.length + emails.length > 0 ? await findRelated(db, named, emails) : []
  const sent = copies.length > 0 ? await findRecipients(db, copies) : []
  const byName = Map.groupBy(related, ({ project_id, message_id }) => `${project_id} ${message_id}`)
  const byId = new Map(related.map((mail) => [`${mail.project_id} ${mail.id}`, mail]))
  const copiesById = new Map(sent.map((copy) => [`${copy.project_id} ${copy.id}`, copy]))
  return {
    mails: (project_id, name) => [byName.get(`${project_id} ${name}`) ?? byId.get(`${project_id} ${ownIdIn('eml', name)}`) ?? []].flat(),
    mail: (project_id, id) => byId.get(`${project_id} ${id}`),
    copy: (project_id, id) => copiesById.get(`${project_id} ${id}`),
  }
}

/** Only what a person wrote is a reply; who asks to be left alone has been, and that is told. */
function originalOf({ mail, mailbox: { project_id }, answers, applied }: Unplaced, known: Named, alike: RecentMail[]): Original | null {
  if (!isByPerson(mail) || applied !== null) return null
  const sent = (some: RelatedMail[]) => some.find(({ direction }) => direction === 'outbound')
  if (answers?.kind === 'email') return ofEmail(known.mail(project_id, answers.id))
  if (answers?.kind === 'delivery') return ofCopy(known.copy(project_id, answers.id))
  for (const name of namesIn({ mail })) {
    const copy = ownIdIn('dlv', name)
    const original = copy ? ofCopy(known.copy(project_id, copy)) : ofEmail(sent(known.mails(project_id, name)))
    if (original) return original
  }
  return ofEmail(alike.find(({ direction, status }) => direction === 'outbound' && status !== 'failed'))
}

const ofEmail = (email: Pick<RelatedMail, 'id' | 'source_tag' | 'metadata'> | undefined): Original | null =>
  email ? { email_id: email.id, list_id: null, post_id: null, subscriber_id: null, tag: email.source_tag, metadata: email.metadata } : null

const ofCopy = (copy: Copy | undefined): Original | null =>
  copy ? { email_id: null, list_id: copy.list_id, post_id: copy.post_id, subscriber_id: copy.subscriber_id, tag: null, metadata: {} } : null

/** "Re:" in the languages that mail programs write it in, with a count as in "Re[2]:", and repeated; "Fwd:" begins something new. */
const replyMark = /^\s*(?:(?:re|aw|antw?|sv|vs|rv|res|rif|odp|ynt|vá|回复|回覆|答复|答覆|返信)\s*(?:\[\d+\]|\(\d+\))?\s*[:：]\s*)+/iu

/** What a conversation is about, if the subject says that it is an answer; null otherwise. */
export function answeredSubject(subject: string | null): string | null {
  const topic = (subject ?? '').replace(replyMark, '')
  return topic === subject || topic.trim() === '' ? null : plain(topic)
}

const plain = (subject: string): string => subject.replace(replyMark, '').replace(/\s+/g, ' ').trim().toLowerCase()

/** The last resort: mails of the mailbox with this subject, from or to whoever writes now, newest first. */
async function findBySubject(db: Queryable, { mail, mailbox }: Unplaced, since: Date): Promise<RecentMail[]> {
  const topic = answeredSubject(mail.parsed.subject)
  const writer = addressKey(writerOf(mail))
  if (topic === null || writer === null) return []
  const newest = await newestWith(db, { project_id: mailbox.project_id, mailbox_id: mailbox.id, since })
  return newest.filter(
    (one) => plain(one.subject ?? '') === topic && (one.direction === 'outbound' ? one.to_key : addressKey(one.from_address)) === writer,
  )
}
