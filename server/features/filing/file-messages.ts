import { reasonOf } from '../../base/errors.ts'
import { type ContactId, type MailboxId, newId, type ProjectId } from '../../base/ids.ts'
import { BlobStoreError } from '../../blobs/blob-store.ts'
import type { Transaction } from '../../database/database.ts'
import { whoWants } from '../../events/interests.ts'
import { type NewEvent, publishEach, publishUnheard } from '../../events/publish.ts'
import { parseAddress } from '../../mail/address.ts'
import type { Services } from '../../operations/context.ts'
import { applyCalendar } from '../calendar-events/index.ts'
import { contactEventData } from '../contacts/contact.ts'
import { type Heard, holdContactsByAddress, type Met, meetPeople, noteWriting } from '../contacts/index.ts'
import { type AddedMail, addMail } from '../mailboxes/index.ts'
import { type Conversation, findConversations } from './conversation.ts'
import { beginThreads, markReplied } from './conversation-queries.ts'
import { draftPosts } from './draft-posts.ts'
import { type Destination, type FiledMail, type HomeMailbox, refused } from './filed-mail.ts'
import { insertFiled, takeFromSpool } from './filing-queries.ts'
import { forwardMails } from './forward-mail.ts'
import { bounded, type InboundMail, isByCorrespondent, isByPerson, writerOf } from './inbound-mail.ts'
import { mailEventsOf } from './mail-events.ts'
import { carryAttachments } from './outgoing-copy.ts'
import { holdAnswered, passOnReplies } from './pass-on-replies.ts'
import { placeRaw, type RawPlaces } from './raw-places.ts'
import { type Routes, routeMails } from './route-mail.ts'
import { tellOfRefused } from './tell-owner.ts'

type Needs = Pick<Services, 'database' | 'secrets' | 'log' | 'config' | 'clock' | 'blobs' | 'reader'>

/**
 * What becomes of a batch of mail: everything that is written about it, and its removal from the spool, is one transaction. Throws when
 * that fails, and nothing is written; the same batch, or each of it alone, may be tried again.
 */
export async function fileMessages(services: Needs, batch: InboundMail[]): Promise<void> {
  const mails = batch.map(bounded)
  const { destinations, replies } = await routeMails(services, mails)
  const carried = await carryAttachments(services, [...destinations, ...replies])
  const raw = placeRaw({ destinations, replies })
  await storeRaw(services, raw)
  // Before the transaction: in it, this would take a second connection while it holds one.
  const listening = await whoWants(
    services.database,
    destinations.map(({ mailbox }) => mailbox.project_id),
    ['email.received'],
  )
  await services.database.transaction(async (tx) => {
    const open = await takeFromSpool(tx, { ids: mails.map(({ message }) => message.id), kept: raw.kept })
    const isOpen = ({ mail }: { mail: InboundMail }) => open.has(mail.message.id)
    const due = { destinations: destinations.filter(isOpen), replies: replies.filter(isOpen) }
    const places = await drawPlaces(services, tx, due)
    const contactOf = await holdAnswered(tx, due.replies)
    const filed = await file(services, tx, { destinations: due.destinations, place: places, raw, listening })
    await passOnReplies(services, tx, { replies: due.replies, place: places, carried, contactOf })
    await tellOfRefused(services, tx, filed)
    // Last: a forward is booked, and everybody who sends waits for the month's row.
    await forwardMails(services, tx, { filed, carried })
  })
}

async function storeRaw({ blobs }: Needs, { stored }: RawPlaces): Promise<void> {
  await Promise.all([...stored].map(([key, bytes]) => blobs.put(key, bytes))).catch((error: unknown) => {
    throw new BlobStoreError(reasonOf(error), { cause: error })
  })
}

/** Hands out the places of a mailbox, one after the other. */
export type Places = (mailbox_id: MailboxId) => number

async function drawPlaces(services: Needs, tx: Transaction, { destinations, replies }: Routes): Promise<Places> {
  const added = new Map<string, AddedMail>()
  const add = ({ project_id, id: mailbox_id }: HomeMailbox, at: Date | null) => {
    const { count, received_at } = added.get(mailbox_id) ?? { count: 0, received_at: null }
    const newest = received_at && at && received_at > at ? received_at : (at ?? received_at)
    added.set(mailbox_id, { project_id, mailbox_id, count: count + 1, received_at: newest })
  }
  for (const { mail, mailbox } of destinations) add(mailbox, mail.message.received_at)
  for (const { mailbox } of replies) add(mailbox, null)
  const next = added.size > 0 ? await addMail(services, tx, [...added.values()]) : new Map<MailboxId, number>()
  return (mailbox_id) => {
    const place = next.get(mailbox_id)
    // A merge took it to another project, or a purge away, since we looked. The next attempt looks again.
    if (place === undefined) throw new Error('a mailbox has moved while mail was being filed in it')
    next.set(mailbox_id, place + 1)
    return place
  }
}

interface ToFile {
  destinations: Destination[]
  place: Places
  raw: RawPlaces
  /** Projects where somebody hears of mail. */
  listening: ReadonlyMap<ProjectId, unknown>
}

async function file(services: Needs, tx: Transaction, { destinations, place, raw, listening }: ToFile): Promise<FiledMail[]> {
  if (destinations.length === 0) return []
  const { made, contactOf } = await meetWriters(
    tx,
    destinations.filter(({ refused_reply }) => !refused_reply),
  )
  const unplaced = destinations.map((destination) => ({ ...destination, id: newId<'eml'>() }))
  const conversations = await findConversations(tx, unplaced, new Date(tx.now.getTime() - threadDays * 86_400_000))
  // To two mailboxes of a project it is still one reply, by one person.
  const isFirst = (mail: Destination) =>
    destinations.find((one) => one.mail === mail.mail && one.mailbox.project_id === mail.mailbox.project_id)?.mailbox.id === mail.mailbox.id
  const filed = unplaced.map((mail, index): FiledMail => {
    const { thread_id, original } = conversations[index] as Conversation // one for each
    const found = { thread_id, contact_id: contactOf(mail), position: place(mail.mailbox.id), raw_key: raw.keyOf(mail) }
    return { ...mail, ...found, original: isFirst(mail) && !mail.refused_reply ? original : null, results: resultsOf(mail) }
  })
  await publishEach(tx, made)
  await draftPosts(services, tx, filed)
  await insertFiled(tx, filed)
  const begun = conversations.flatMap(({ begins }) => begins ?? [])
  if (begun.length > 0) await beginThreads(tx, begun)
  await noteReplies(tx, filed)
  await publishMail(tx, filed, listening)
  for (const mail of filed) if (!mail.refused_reply) await noteCalendars(tx, mail)
  return filed
}

/** What nobody listens for is many and seldom read. Answers stay apart: each tells of a list of its own. */
async function publishMail(tx: Transaction, filed: FiledMail[], listening: ToFile['listening']): Promise<void> {
  const isHeard = (project_id: ProjectId) => listening.has(project_id)
  const events = filed.flatMap((mail) => mailEventsOf(mail, { isHeard: isHeard(mail.mailbox.project_id) }))
  const isTogether = ({ type, project_id }: NewEvent) => type === 'email.received' && !isHeard(project_id)
  await publishUnheard(tx, events.filter(isTogether))
  await publishEach(
    tx,
    events.filter((event) => !isTogether(event)),
  )
}

async function noteCalendars(tx: Transaction, { id: email_id, mail: { parsed, verdicts }, mailbox }: FiledMail): Promise<void> {
  const arrived = { project_id: mailbox.project_id, mailbox_id: mailbox.id, email_id, from: parsed.from?.address ?? null }
  const proof = { isForged: verdicts.dmarc.result === 'fail', isProven: verdicts.authenticated_domain !== null }
  for (const text of parsed.calendars) await applyCalendar(tx, { ...arrived, ...proof, text })
}

/** After so long, the same subject is another conversation. */
const threadDays = 30

function resultsOf({ mail: { parsed }, applied, refused_reply }: Destination): FiledMail['results'] {
  return {
    ...(applied === null ? {} : { [applied]: { status: 'applied' } }),
    ...(refused_reply === null ? {} : { reply: refused(refused_reply.reason) }),
    ...(parsed.problem === null ? {} : { parse: { status: 'failed', reason: parsed.problem } }),
  }
}

/** Whoever writes becomes a contact; what programs write is filed with who is one already. */
async function meetWriters(tx: Transaction, destinations: Destination[]) {
  const writers = new Map<string, Met & { isPerson: boolean }>()
  for (const { mail, mailbox } of destinations) {
    const email = parseAddress(writerOf(mail))
    if (!email.ok) continue
    const key = `${mailbox.project_id} ${email.value.key}`
    const isPerson = isByCorrespondent(mail) || writers.get(key)?.isPerson === true
    writers.set(key, { project_id: mailbox.project_id, email: email.value, name: nameOf(mail), isPerson })
  }
  const hold = () =>
    holdContactsByAddress(
      tx,
      [...writers.values()].map(({ project_id, email }) => ({ project_id, email_key: email.key })),
    )
  const known = await hold()
  // Most have written before.
  const strangers = [...writers.values()].filter(
    ({ isPerson, project_id, email }) => isPerson && known({ project_id, email_key: email.key }) === null,
  )
  const made = strangers.length > 0 ? await meetPeople(tx, strangers) : []
  const idOf = strangers.length > 0 ? await hold() : known
  const contactOf = ({ mail, mailbox }: Destination): ContactId | null => {
    const email = parseAddress(writerOf(mail))
    return email.ok ? idOf({ project_id: mailbox.project_id, email_key: email.value.key }) : null
  }
  const events = made.map(
    (contact): NewEvent => ({ project_id: contact.project_id, type: 'contact.created', data: contactEventData(contact) }),
  )
  return { made: events, contactOf }
}

const maxNameLetters = 200
const nameOf = ({ parsed }: InboundMail): string | null => parsed.from?.name?.replace(/\s+/g, ' ').trim().slice(0, maxNameLetters) || null

async function noteReplies(tx: Transaction, filed: FiledMail[]): Promise<void> {
  const heard = new Map<string, Heard>()
  for (const { mail, mailbox, contact_id, original } of filed) {
    if (contact_id === null || !isByPerson(mail)) continue
    const before = heard.get(contact_id)
    const at = mail.message.received_at
    heard.set(contact_id, {
      project_id: mailbox.project_id,
      id: contact_id,
      replies: (before?.replies ?? 0) + Number(original !== null),
      at: before && before.at > at ? before.at : at,
    })
  }
  if (heard.size > 0) await noteWriting(tx, [...heard.values()])
  const answered = filed.flatMap(({ mailbox: { project_id }, original }) =>
    original?.email_id ? [{ project_id, id: original.email_id }] : [],
  )
  if (answered.length > 0) await markReplied(tx, answered)
}
