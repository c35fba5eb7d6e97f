import { parseDeliveryToken } from '../../base/delivery-token.ts'
import type { EmailId, ProjectId } from '../../base/ids.ts'
import { parseReplyToken } from '../../base/reply-token.ts'
import { addressKey, mailboxKeyOf, parseAddress } from '../../mail/address.ts'
import { parseReplyAddress, parseUnsubscribeAddress, parseVerp } from '../../mail/verp.ts'
import type { Services } from '../../operations/context.ts'
import { stateOf } from '../mailboxes/mailbox.ts'
import { type Applied, applyBackchannelMail, findMailKey, type MailKey, projectFinder } from '../recipients/index.ts'
import type { Destination, HomeMailbox } from './filed-mail.ts'
import { type InboundMail, isByPerson } from './inbound-mail.ts'
import { hasRoomFor, maxAttachmentBytes } from './outgoing-copy.ts'
import { findHome, findHomeOf, findHomes, findReplyAddress, type ReplyAddress } from './routing-queries.ts'

/** An owner's answer, on its way through a proxy mailbox to somebody outside. */
export interface OwnersReply {
  mail: InboundMail
  mailbox: HomeMailbox
  to: ReplyAddress
  /** As in RCPT TO: the address of ours that the owner sees in place of the other one. */
  through: string
}

export interface Routes {
  destinations: Destination[]
  replies: OwnersReply[]
}

type Needs = Pick<Services, 'database' | 'secrets' | 'log' | 'clock'>

/**
 * Where each message goes, recipient by recipient. What comes back about mail of ours is applied here, in transactions of its own that
 * change nothing the second time.
 */
export async function routeMails(services: Needs, mails: InboundMail[]): Promise<Routes> {
  const homes = await findHomesOf(services, mails)
  const routes: Routes = { destinations: [], replies: [] }
  for (const mail of mails) {
    const taken = new Set<string>()
    const add = (destination: Destination | null) => {
      // `name+a@` and `name@` are one mailbox, and get one e-mail.
      if (!destination || taken.has(destination.mailbox.id)) return
      taken.add(destination.mailbox.id)
      routes.destinations.push(destination)
    }
    const addReply = (reply: OwnersReply | null) => {
      if (!reply || taken.has(reply.to.id)) return
      taken.add(reply.to.id)
      const { mailbox, through: recipient } = reply
      const reason = problemWithReply(mail, mailbox, services.clock.now())
      if (reason === null) routes.replies.push(reply)
      else add({ mail, mailbox, recipient, answers: null, applied: null, refused_reply: { reason } })
    }
    const project_ids = mail.message.recipients.flatMap((recipient) => homeAt(homes, recipient)?.project_id ?? [])
    const applied = project_ids.length > 0 ? await applyContent(services, mail, [...new Set(project_ids)]) : null
    for (const recipient of mail.message.recipients) {
      const mailbox = homeAt(homes, recipient)
      if (mailbox) add({ mail, mailbox, recipient, answers: null, applied, refused_reply: null })
      else if (isBackchannel(services, recipient)) add(await routeBackchannel(services, mail, recipient))
      else if (parseReplyAddress(recipient)) addReply(await routeReply(services, mail, recipient))
      // Whoever deletes a mailbox wants no more of its mail: what was on its way into it goes with it.
      else services.log.info({ inbound_id: mail.message.id }, 'a mail was dropped: its mailbox was deleted after it was accepted')
    }
  }
  return routes
}

async function findHomesOf({ database }: Needs, mails: InboundMail[]): Promise<Map<string, HomeMailbox>> {
  const keys = mails.flatMap(({ message }) => message.recipients.map(addressKey)).filter((key) => key !== null)
  const homes = await findHomes(database, [...new Set(keys.flatMap((key) => [key, mailboxKeyOf(key)]))])
  return new Map(homes.map((home) => [home.address_key, home]))
}

/** `name+anything@` is `name@`, unless somebody has just that address. */
function homeAt(homes: Map<string, HomeMailbox>, recipient: string): HomeMailbox | null {
  const key = addressKey(recipient)
  return key === null ? null : (homes.get(key) ?? homes.get(mailboxKeyOf(key)) ?? null)
}

async function applyContent(services: Needs, { message, backchannel }: InboundMail, project_ids: ProjectId[]): Promise<Applied> {
  const { envelope_from, recipients } = message
  const mail = { envelope_to: recipients[0] ?? '', envelope_from, content: backchannel, project_ids }
  return backchannel && applyBackchannelMail(services, mail)
}

function isBackchannel({ secrets }: Needs, recipient: string): boolean {
  const [back, leaving] = [parseVerp(recipient), parseUnsubscribeAddress(recipient)]
  if (back) return parseDeliveryToken(secrets, 'return_path', back) !== null
  return leaving !== null && parseDeliveryToken(secrets, 'unsubscribe', leaving) !== null
}

/** Some programs answer to the return path. What a person writes there is filed with the mailbox that the mail was from. */
async function routeBackchannel(services: Needs, mail: InboundMail, recipient: string): Promise<Destination | null> {
  const { envelope_from } = mail.message
  const applied = await applyBackchannelMail(services, { envelope_to: recipient, envelope_from, content: mail.backchannel })
  const token = parseVerp(recipient)
  if (applied !== null || token === null || !isByPerson(mail)) return null
  const key = await findMailKey(services, { token, purpose: 'return_path' }, projectFinder(services.database))
  // An answer that was passed on is queued under the id of the e-mail that it carries.
  const answers: MailKey | null = key?.kind === 'message' ? { ...key, kind: 'email', id: key.id as string as EmailId } : key
  const mailbox = answers && (await findHomeOf(services.database, answers))
  if (!mailbox) services.log.info({ inbound_id: mail.message.id }, 'a mail was dropped: what it answers was sent from no mailbox')
  return mailbox && { mail, mailbox, recipient: mailbox.address, answers, applied: null, refused_reply: null }
}

async function routeReply(services: Needs, mail: InboundMail, recipient: string): Promise<OwnersReply | null> {
  const id = parseReplyToken(services.secrets, parseReplyAddress(recipient) ?? '')
  const to = id && (await findReplyAddress(services.database, id))
  const mailbox = to && (await findHome(services.database, to))
  if (!mailbox) services.log.info({ inbound_id: mail.message.id }, 'an answer was dropped: its mailbox was deleted after it was accepted')
  return to && mailbox ? { mail, mailbox, to, through: recipient } : null
}

/** Only who has the mail passed on answers through the mailbox; a program's answer would tell who that is (RFC 3834 section 2). */
function problemWithReply(mail: InboundMail, mailbox: HomeMailbox, now: Date): string | null {
  const { from, problem, attachments } = mail.parsed
  const state = stateOf(mailbox, now)
  const writer = parseAddress(from?.address ?? '')
  const owner = mailbox.type === 'proxy' && typeof mailbox.config?.forward_to === 'string' ? addressKey(mailbox.config.forward_to) : null
  if (state !== 'active') return `The mailbox is ${state}`
  if (owner === null) return 'The mailbox passes no mail on any more'
  if (!isByPerson(mail)) return 'A program wrote it'
  if (problem !== null) return 'It could not be read whole'
  if (!writer.ok || writer.value.key !== owner) return 'It is not from the address that this mailbox passes mail on to'
  if (mail.verdicts.authenticated_domain !== writer.value.domain) return 'Neither DKIM nor SPF proves that it is by the owner'
  return hasRoomFor(attachments) ? null : `It has more than ${maxAttachmentBytes / 1024 / 1024} MB of attachments`
}
