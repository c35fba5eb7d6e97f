import { type ContactId, formatId, newId } from '../../base/ids.ts'
import { rawKey } from '../../blobs/blob-store.ts'
import type { Transaction } from '../../database/database.ts'
import { enqueueMessage } from '../../delivery/enqueue.ts'
import { publish } from '../../events/publish.ts'
import type { OutgoingAttachment } from '../../mail/compose.ts'
import { bodiesOf } from '../../mail/inbound/packed-mail.ts'
import type { Services } from '../../operations/context.ts'
import { holdContactsByAddress } from '../contacts/index.ts'
import { findWayBack, isMessageId, shortened, threadHeaders } from '../emails/index.ts'
import type { Places } from './file-messages.ts'
import { loopHeader } from './forward-mail.ts'
import { bookCopy, type Carried, type Permission } from './outgoing-copy.ts'
import { findAnswered, insertPassedOn, markAnswered } from './proxy-queries.ts'
import type { OwnersReply } from './route-mail.ts'
import { tellOwner } from './tell-owner.ts'

interface Replies {
  replies: OwnersReply[]
  place: Places
  carried: Carried
  contactOf: ContactOf
}

/** Whom a reply goes to, if they are a contact. */
type ContactOf = (reply: OwnersReply) => ContactId | null

/** Before anything is booked or counted: many wait for what holds those rows, and it must not wait itself. */
export async function holdAnswered(tx: Transaction, replies: OwnersReply[]): Promise<ContactOf> {
  const keyOf = ({ mailbox: { project_id }, to }: OwnersReply) => ({ project_id, email_key: to.outside_key })
  const idOf = await holdContactsByAddress(tx, replies.map(keyOf))
  return (reply) => idOf(keyOf(reply))
}

/** What owners answer goes out from their mailbox, as a new mail: of theirs it has the words alone. */
export async function passOnReplies(
  services: Pick<Services, 'config'>,
  tx: Transaction,
  { replies, place, carried, contactOf }: Replies,
): Promise<void> {
  for (const reply of replies)
    await passOn(services, tx, { reply, position: place(reply.mailbox.id), carried, contact_id: contactOf(reply) })
}

interface Passing {
  reply: OwnersReply
  position: number
  carried: Carried
  contact_id: ContactId | null
}

async function passOn(
  services: Pick<Services, 'config'>,
  tx: Transaction,
  { reply, position, carried, contact_id }: Passing,
): Promise<void> {
  const { mailbox, to, mail } = reply
  const { project_id, id: mailbox_id } = mailbox
  const id = newId<'eml'>()
  const names = outsideIds(mail.parsed, services.config.MAIL_DOMAIN)
  const place = { in_reply_to: names.at(-1) ?? null, reference_ids: shortened(names) }
  const answered = await findAnswered(tx, { project_id, mailbox_id, names })
  const { permission, return_host } = await mayPassOn(services, tx, reply)
  const outgoing = { ...answerOf(reply, place, carried.get(mail)?.parts ?? []), ...(return_host === undefined ? {} : { return_host }) }
  const message = permission.isAllowed ? { project_id, id, kind: 'proxy_reply', isSecret: true, mail: outgoing } : null
  // As the sender of queued messages calls it.
  const message_id = message && `${formatId('msg', await enqueueMessage(tx, message))}@${services.config.MAIL_DOMAIN}`
  await insertPassedOn(tx, {
    project_id,
    id,
    mailbox_id,
    from_address: mailbox.address,
    from_name: mailbox.name,
    to_address: to.outside,
    to_key: to.outside_key,
    subject: outgoing.subject,
    text_body: outgoing.text,
    html_body: outgoing.html,
    message_id,
    ...place,
    thread_id: answered?.thread_id ?? id,
    contact_id,
    attachments: mail.parsed.attachments,
    raw_key: replyKey(reply),
    raw_size: mail.message.raw.length,
    ...(permission.isAllowed
      ? { status: 'sent', reason: null, reservation_id: permission.reservation_id, position }
      : { status: 'failed', reason: permission.reason, reservation_id: null, position: null }),
  })
  if (!permission.isAllowed) await tellOwner(services, tx, { mailbox, reason: permission.reason })
  if (!message_id) return
  if (answered) await markAnswered(tx, { project_id, id: answered.id })
  const nobody = { list_id: null, post_id: null, subscriber_id: null }
  const sent = { from: mailbox.address, to: to.outside, subject: outgoing.subject, tag: null, metadata: {} }
  const email = { ...sent, id, status: 'sent' as const, provider_message_id: message_id, reason: null, created_at: tx.now }
  await publish(tx, project_id, 'email.sent', { email_id: id, mailbox_id, contact_id, ...sent, ...nobody, message_id, email })
}

/** From a domain of the project's own only while that is verified: what is not its own now would be somebody else's mail. */
async function mayPassOn(
  services: Pick<Services, 'config'>,
  tx: Transaction,
  { mailbox, to }: OwnersReply,
): Promise<{ permission: Permission; return_host?: string | undefined }> {
  const way = await findWayBack(services, tx, mailbox)
  if ('problem' in way) return { permission: { isAllowed: false, reason: `The mailbox ${way.problem}` } }
  const permission = await bookCopy(services, tx, { project_id: mailbox.project_id, to_key: to.outside_key })
  return { permission, return_host: way.return_host }
}

/** Where the owner's own message is kept: one for each e-mail that was made of it, and removed with that. */
export const replyKey = ({ mail, mailbox, to }: OwnersReply): string =>
  // A part of a key has 64 letters at most.
  rawKey(mailbox.project_id, `${mail.message.id}${to.id}`.replaceAll('-', ''))

type Place = Parameters<typeof threadHeaders>[0]

function answerOf({ mail: { message, parsed }, mailbox, to, through }: OwnersReply, place: Place, attachments: OutgoingAttachment[]) {
  const conceal = concealing([
    [String(mailbox.config?.forward_to), mailbox.address],
    [through, to.outside],
  ])
  const { text_body: text, html_body: html } = bodiesOf(parsed, message.raw)
  return {
    from: { name: mailbox.name, address: mailbox.address },
    to: to.outside,
    reply_to: null,
    subject: parsed.subject ?? '',
    text: conceal(text ?? ''),
    html: html === null ? null : conceal(html),
    ...(attachments.length > 0 ? { attachments } : {}),
    headers: { [loopHeader]: formatId('mbx', mailbox.id), ...threadHeaders(place) },
  }
}

/** Those of the conversation with the person outside; the forward that the owner has had is nothing to them. */
function outsideIds({ references, in_reply_to }: OwnersReply['mail']['parsed'], mailDomain: string): string[] {
  const ids = in_reply_to === null || references.includes(in_reply_to) ? references : [...references, in_reply_to]
  return ids.filter((id) => isMessageId(id) && !(id.startsWith('msg_') && id.endsWith(`@${mailDomain}`)))
}

/** Mail programs quote addresses: where the owner's stands, the mailbox's is put, and the outside person's for that of the way back. */
function concealing(pairs: [from: string, to: string][]): (text: string) => string {
  const spelled = pairs.flatMap(([from, to]): [RegExp, string][] => [
    [literally(from), to],
    [literally(encodeURIComponent(from)), encodeURIComponent(to)],
  ])
  return (text) => spelled.reduce((words, [from, to]) => words.replace(from, () => to), text)
}

const literally = (text: string): RegExp => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi')
