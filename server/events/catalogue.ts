import { z } from 'zod'
import { idOf } from '../base/ids.ts'
import { CalendarEvent } from '../features/calendar-events/calendar-event.ts'
import { ContactGroup } from '../features/contact-groups/contact-group.ts'
import { ContactDetail } from '../features/contacts/contact.ts'
import { EmailRecord } from '../features/emails/email.ts'
import { InboxEmailSummary, ReceivedEmail } from '../features/inbox/inbox-email.ts'
import { ListDetail } from '../features/lists/list.ts'
import { MailboxDetail } from '../features/mailboxes/mailbox.ts'
import { PostSummary } from '../features/posts/post.ts'
import { SubscriberSummary } from '../features/subscribers/subscriber.ts'

/**
 * Every event, when it fires and what its data holds: ids, and the thing itself in the API's own shape. `publish`, the webhook
 * documents and the contract test derive from this table. Shapes are all that it takes from features.
 */
const event = <Data extends z.ZodObject>(when: string, data: Data) => ({ when, data })

const post = z
  .object({
    post_id: idOf('post'),
    list_id: idOf('lst'),
    subject: z.string(),
    post: PostSummary.meta({ description: 'The post as it is after what happened, without its bodies' }),
  })
  .meta({ id: 'PostEvent' })
const mail = z.object({
  email_id: idOf('eml'),
  mailbox_id: idOf('mbx').nullable(),
  list_id: idOf('lst').nullable(),
  post_id: idOf('post').nullable(),
  subscriber_id: idOf('sub').nullable(),
  contact_id: idOf('con').nullable(),
  from: z.string(),
  to: z.string(),
  subject: z.string().nullable(),
  message_id: z.string().nullable(),
  tag: z.string().nullable(),
  metadata: z.record(z.string(), z.string()).meta({ description: 'What the sender gave along' }),
})
const aboutEmail = 'A single e-mail as it is after what happened; null for a copy of a post and for a mail of the list itself'
const email = mail.extend({ email: EmailRecord.nullable().meta({ description: aboutEmail }) }).meta({ id: 'EmailEvent' })
const isMachine = z.boolean().meta({ description: 'A program did it, as far as can be told; only what people do is told so far' })
const bounce = z
  .object({
    kind: z.enum(['hard', 'soft']).meta({ description: 'hard: the address takes no mail, and gets no more. soft: it may pass' }),
    smtp_code: z.int().nullable().meta({ description: 'What the receiving server answered, such as 550' }),
    enhanced_code: z.string().nullable().meta({ description: 'RFC 3463, such as 5.1.1' }),
    reason: z.string().nullable().meta({ description: 'Why, in words' }),
  })
  .meta({ id: 'Bounce' })
const subscriber = z
  .object({ subscriber_id: idOf('sub'), list_id: idOf('lst'), contact_id: idOf('con'), subscriber: SubscriberSummary })
  .meta({ id: 'SubscriberEvent' })
const contact = z.object({ contact_id: idOf('con'), contact: ContactDetail }).meta({ id: 'ContactEvent' })
const contactGroup = z
  .object({ contact_group_id: idOf('grp'), name: z.string(), contact_group: ContactGroup })
  .meta({ id: 'ContactGroupEvent' })
const list = z.object({ list_id: idOf('lst'), list: ListDetail }).meta({ id: 'ListEvent' })
const mailbox = z.object({ mailbox_id: idOf('mbx'), mailbox: MailboxDetail }).meta({ id: 'MailboxEvent' })
const aboutInvitation = 'With 50 attendees and 2,000 letters of description at most; null when it was erased together with a person'
const calendarEvent = z
  .object({
    calendar_event_id: idOf('cal'),
    mailbox_id: idOf('mbx'),
    title: z.string(),
    calendar_event: CalendarEvent.nullable().meta({ description: aboutInvitation }),
  })
  .meta({ id: 'CalendarEventEvent' })

export const catalogue = {
  'post.created': event('a draft is created, by hand, by mail or over the API', post),
  'post.updated': event('a post’s content or settings change', post),
  'post.sent': event('sending is approved; not when the last message has left', post),
  'post.delivered': event('every recipient has a final status', post),
  'post.paused': event('a broadcast is paused', post),
  'post.resumed': event('a paused broadcast goes on', post),
  'post.cancelled': event('a broadcast is cancelled', post),
  'post.viewed': event('somebody reads the post on the site', post),
  'post.liked': event('somebody reacts to the post', post),
  'email.received': event('a mail arrives in a mailbox', mail.extend({ email: ReceivedEmail }).meta({ id: 'EmailReceivedEvent' })),
  'email.sent': event('a mail is handed to the outgoing server', email),
  'email.delivered': event('the receiving server accepts a mail', email),
  'email.bounced': event('a mail bounces, for now or for good', email.extend({ bounce }).meta({ id: 'EmailBouncedEvent' })),
  'email.opened': event(
    'somebody opens a mail that has the tracking pixel',
    email.extend({ is_machine: isMachine }).meta({ id: 'EmailOpenedEvent' }),
  ),
  'email.clicked': event(
    'somebody follows a tracked link',
    email
      .extend({ url: z.string().meta({ description: 'Where the link leads' }), is_machine: isMachine })
      .meta({ id: 'EmailClickedEvent' }),
  ),
  'email.complained': event('the recipient reports spam', email),
  'email.replied': event('the recipient replies', mail.extend({ email: InboxEmailSummary }).meta({ id: 'EmailRepliedEvent' })),
  'subscriber.created': event('somebody is added to a list, by form, API, import or agent', subscriber),
  'subscriber.confirmed': event('the double opt-in is confirmed', subscriber),
  'subscriber.unsubscribed': event('somebody unsubscribes, by link, API or hand', subscriber),
  'subscriber.deleted': event('a subscriber is removed from a list', subscriber),
  'contact.created': event('a contact is created', contact),
  'contact.updated': event('a contact’s data change', contact),
  'contact.deleted': event('a contact is removed', contact),
  'contact_group.created': event('a contact group is created', contactGroup),
  'contact_group.updated': event('a contact group is renamed, or its members change', contactGroup),
  'contact_group.deleted': event('a contact group is removed', contactGroup),
  'list.created': event('a list is created', list),
  'list.updated': event('a list’s settings change', list),
  'list.deleted': event('a list is removed', list),
  'mailbox.created': event('a mailbox is created', mailbox),
  'mailbox.updated': event('a mailbox’s settings change', mailbox),
  'mailbox.deleted': event('a mailbox is removed', mailbox),
  'calendar_event.created': event('an invitation arrives by mail', calendarEvent),
  'calendar_event.updated': event('an invitation changes', calendarEvent),
  'calendar_event.deleted': event('an invitation is cancelled', calendarEvent),
  'project.deleted': event(
    'a project is deleted together with its lists',
    z.object({ project_id: idOf('prj') }).meta({ id: 'ProjectEvent' }),
  ),
} satisfies Record<string, { when: string; data: z.ZodObject }>

export type EventType = keyof typeof catalogue
export type EventData<Type extends EventType> = z.output<(typeof catalogue)[Type]['data']>
export const eventTypes = Object.keys(catalogue) as EventType[]
