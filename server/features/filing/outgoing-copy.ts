import { newId, type ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import type { OutgoingAttachment } from '../../mail/compose.ts'
import { type Attachment, UnreadableMail } from '../../mail/inbound/mail-reader.ts'
import type { Services } from '../../operations/context.ts'
import { findSuppression } from '../suppressions/index.ts'
import { reserveEmails } from '../usage/index.ts'
import type { HomeMailbox } from './filed-mail.ts'
import type { InboundMail } from './inbound-mail.ts'

/** What goes on with a mail that is passed on. */
export interface CarriedAttachments {
  parts: OutgoingAttachment[]
  /** Too large to wait in a queue, or in a message that takes too much to take apart. */
  left: number
}
export type Carried = Map<InboundMail, CarriedAttachments>

/** As much as most servers take in one message, with what base64 adds. */
export const maxAttachmentBytes = 10 * 1024 * 1024

export const hasRoomFor = (attachments: { size: number }[]): boolean =>
  attachments.reduce((bytes, { size }) => bytes + size, 0) <= maxAttachmentBytes

/** Of the mails that a proxy mailbox passes on, one way or the other. Before any transaction: taking a large mail apart takes its time. */
export async function carryAttachments(
  services: Pick<Services, 'reader'>,
  mails: { mail: InboundMail; mailbox: HomeMailbox; refused_reply?: unknown }[],
): Promise<Carried> {
  const carried: Carried = new Map()
  for (const { mail, mailbox, refused_reply } of mails) {
    if (refused_reply || mailbox.type !== 'proxy' || mail.parsed.attachments.length === 0 || carried.has(mail)) continue
    const attachments = await attachmentsOf(services, mail)
    carried.set(mail, attachments === null ? { parts: [], left: mail.parsed.attachments.length } : withinRoom(attachments))
  }
  return carried
}

/** Null for a message that takes too much to take apart: it is filed all the same. */
async function attachmentsOf({ reader }: Pick<Services, 'reader'>, { message }: InboundMail): Promise<Attachment[] | null> {
  try {
    // In a line of its own: what a project downloads keeps no mail from going on.
    return await reader.attachments('filing', message.raw)
  } catch (error) {
    if (error instanceof UnreadableMail) return null
    throw error
  }
}

function withinRoom(attachments: Attachment[]): CarriedAttachments {
  const parts: OutgoingAttachment[] = []
  let left = 0
  let room = maxAttachmentBytes
  for (const { about, bytes } of attachments) {
    if (bytes.length > room) left++
    else
      parts.push({
        filename: about.filename,
        content_type: about.content_type,
        content_id: about.content_id,
        base64: bytes.toString('base64'),
      })
    room -= bytes.length > room ? 0 : bytes.length
  }
  return { parts, left }
}

interface Sending {
  project_id: ProjectId
  to_key: string
}

export type Permission = { isAllowed: true; reservation_id: string } | { isAllowed: false; reason: string }

/** Every mail that leaves is counted, and nobody gets one who wants none, whoever it was that wrote it. */
export async function bookCopy(services: Pick<Services, 'config'>, tx: Transaction, { project_id, to_key }: Sending): Promise<Permission> {
  const suppression = await findSuppression(tx, project_id, to_key)
  if (suppression) return { isAllowed: false, reason: `The address is suppressed (${suppression.reason})` }
  const reserved = await reserveEmails(services, tx, { project_id, mailbox_id: null, reservation_id: newId(), count: 1 })
  if (reserved.outcome === 'reserved') return { isAllowed: true, reservation_id: reserved.reservation_id }
  return { isAllowed: false, reason: 'The plan has no room for another e-mail this month' }
}
