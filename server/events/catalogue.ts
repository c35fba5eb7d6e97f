import { z } from 'zod'
import { idOf } from '../base/ids.ts'
import { ContactDetail } from '../features/contacts/contact.ts'
import { ListDetail } from '../features/lists/list.ts'
import { MailboxDetail } from '../features/mailboxes/mailbox.ts'
import { SubscriberSummary } from '../features/subscribers/subscriber.ts'

/**
 * Every event, when it fires and what its data holds: ids, and the thing itself in the API's own shape. `publish`, the webhook
 * documents and the contract test derive from this table. Shapes are all that it takes from features.
 */
const event = <Data extends z.ZodObject>(when: string, data: Data) => ({ when, data })

const post = z.object({ post_id: idOf('post'), list_id: idOf('lst'), subject: z.string() })
const email = z.object({
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
const subscriber = z.object({ subscriber_id: idOf('sub'), list_id: idOf('lst'), contact_id: idOf('con'), subscriber: SubscriberSummary })
const contact = z.object({ contact_id: idOf('con'), contact: ContactDetail })
const contactGroup = z.object({ contact_group_id: idOf('grp'), name: z.string() })
const list = z.object({ list_id: idOf('lst'), list: ListDetail })
const mailbox = z.object({ mailbox_id: idOf('mbx'), mailbox: MailboxDetail })
const calendarEvent = z.object({ calendar_event_id: idOf('cal'), mailbox_id: idOf('mbx'), title: z.string() })

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
  'email.received': event('a mail arrives in a mailbox', email),
  'email.sent': event('a mail is handed to the outgoing server', email),
  'email.delivered': event('the receiving server accepts a mail', email),
  'email.bounced': event('a mail bounces, for now or for good', email),
  'email.opened': event('somebody opens a mail that has the tracking pixel', email),
  'email.clicked': event(
    'somebody follows a tracked link',
    email.extend({ url: z.string().meta({ description: 'Where the link leads' }) }),
  ),
  'email.complained': event('the recipient reports spam', email),
  'email.replied': event('the recipient replies', email),
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
  'project.deleted': event('a project is deleted together with its lists', z.object({ project_id: idOf('prj') })),
} satisfies Record<string, { when: string; data: z.ZodObject }>

export type EventType = keyof typeof catalogue
export type EventData<Type extends EventType> = z.output<(typeof catalogue)[Type]['data']>
export const eventTypes = Object.keys(catalogue) as EventType[]
