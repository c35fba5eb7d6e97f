import { formatId } from '../../base/ids.ts'
import { formatReplyToken } from '../../base/reply-token.ts'
import type { Transaction } from '../../database/database.ts'
import { countMessages, enqueueMessage } from '../../delivery/enqueue.ts'
import { type MailAddress, parseAddress } from '../../mail/address.ts'
import { bodiesOf, headersOf } from '../../mail/inbound/packed-mail.ts'
import { formatReplyAddress } from '../../mail/verp.ts'
import type { Services } from '../../operations/context.ts'
import { isMessageId, shortened, threadHeaders } from '../emails/index.ts'
import { type FiledMail, type HandlerResults, refused } from './filed-mail.ts'
import { saveResults } from './filing-queries.ts'
import { type InboundMail, isBounce, writerOf } from './inbound-mail.ts'
import { bookCopy, type Carried, type CarriedAttachments } from './outgoing-copy.ts'
import { bookFor, keepReplyAddress } from './proxy-queries.ts'

type Needs = Pick<Services, 'config' | 'secrets'>

/** Names the mailboxes that a mail has been passed on by: one that comes back to any of them goes no further. */
export const loopHeader = 'X-Posthaste-Forwarded'
const maxForwards = 5
const dayMs = 86_400_000
/** To one address: what is more than people read is a loop that nobody has seen through. */
const maxPerDay = 500

/** What came into proxy mailboxes goes on to their owners, from an address through which they can answer. */
export async function forwardMails(
  services: Needs,
  tx: Transaction,
  { filed, carried }: { filed: FiledMail[]; carried: Carried },
): Promise<void> {
  for (const mail of filed) {
    const to = parseAddress(String(mail.mailbox.config?.forward_to ?? ''))
    if (mail.mailbox.type !== 'proxy' || !to.ok || mail.refused_reply) continue
    const forward = await forwardOne(services, tx, { filed: mail, to: to.value, attachments: carried.get(mail.mail) })
    await saveResults(tx, { project_id: mail.mailbox.project_id, id: mail.id }, { forward })
  }
}

interface Forward {
  filed: FiledMail
  to: MailAddress
  attachments: CarriedAttachments | undefined
}

async function forwardOne(services: Needs, tx: Transaction, { filed, to, attachments }: Forward): Promise<HandlerResults[string]> {
  const { mail, mailbox } = filed
  const { project_id } = mailbox
  const outside = parseAddress(mail.parsed.reply_to?.address ?? writerOf(mail))
  const problem = problemWith(filed) ?? (outside.ok ? null : 'It says nobody who could be answered')
  if (problem !== null || !outside.ok) return refused(problem ?? '')
  const today = await countMessages(tx, { kind: 'forward', since: new Date(tx.now.getTime() - dayMs), project_id, recipient_key: to.key })
  if (today >= maxPerDay) return refused(`${maxPerDay} e-mails went to this address within a day`)
  const permission = await bookCopy(services, tx, { project_id, to_key: to.key })
  if (!permission.isAllowed) return refused(permission.reason)
  const id = await keepReplyAddress(tx, { project_id, mailbox_id: mailbox.id, outside: outside.value })
  const through = formatReplyAddress(formatReplyToken(services.secrets, id), services.config.MAIL_DOMAIN)
  // Its text is the owner's and the writer's business: the queue keeps none of it once it has left.
  await enqueueMessage(tx, {
    project_id,
    id: filed.id,
    kind: 'forward',
    isSecret: true,
    mail: forwarded(filed, { to: to.address, through, attachments }),
  })
  await bookFor(tx, { project_id, id: filed.id }, permission.reservation_id)
  return { status: 'queued' }
}

/** A bounce is for who sent the mail, and that was not the owner. */
function problemWith({ mail, mailbox }: FiledMail): string | null {
  if (isBounce(mail)) return 'It is a bounce'
  const passedOn = namesIn(mail)
  if (passedOn.includes(formatId('mbx', mailbox.id))) return 'This mailbox has passed it on before'
  return passedOn.length >= maxForwards ? `It has been passed on ${maxForwards} times` : null
}

const namesIn = ({ parsed }: InboundMail): string[] =>
  headersOf(parsed)
    .filter(({ name }) => name === loopHeader.toLowerCase())
    .flatMap(({ value }) => value.match(/mbx_[\da-z]{26}/g) ?? [])

interface Way {
  to: string
  through: string
  attachments: CarriedAttachments | undefined
}

/**
 * A new mail with the same words. The ids of the conversation are named in it, so that the owner's program keeps it together, and the
 * answer can name them again.
 */
function forwarded({ mail, mailbox }: FiledMail, { to, through, attachments = { parts: [], left: 0 } }: Way) {
  const { from, subject, references, message_id } = mail.parsed
  const { text_body: text, html_body: html } = bodiesOf(mail.parsed, mail.message.raw)
  const autoSubmitted = headersOf(mail.parsed).find(({ name }) => name === 'auto-submitted')?.value
  const ids = [...references, message_id ?? ''].filter(isMessageId)
  const note =
    attachments.left === 0
      ? ''
      : `\n\n(${attachments.left} of its attachments were too large to pass on. They are kept in ${mailbox.address}.)`
  return {
    from: { name: `${from?.name ?? writerOf(mail).replace(/@[^@]*$/, '')} via ${mailbox.name ?? mailbox.address}`, address: through },
    to,
    reply_to: through,
    subject: subject ?? '',
    text: (text ?? '') + note,
    html: html === null ? null : `${html}${note && `<p>${note.trim()}</p>`}`,
    ...(attachments.parts.length > 0 ? { attachments: attachments.parts } : {}),
    headers: {
      [loopHeader]: [...namesIn(mail), formatId('mbx', mailbox.id)].join(' '),
      'X-Original-Sender': writerOf(mail),
      ...threadHeaders({ in_reply_to: ids.at(-1) ?? null, reference_ids: shortened(ids) }),
      ...(autoSubmitted ? { 'Auto-Submitted': autoSubmitted } : {}),
    },
  }
}
