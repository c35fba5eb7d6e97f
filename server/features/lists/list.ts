import { z } from 'zod'
import { idOf, type ListId, type MailboxId, type ProjectId } from '../../base/ids.ts'
import { reservedNames, slugOf } from '../../base/slug.ts'
import { returnHostOf } from '../../mail/verp.ts'
import { ceilingOn } from '../../mail/warm-up-days.ts'
import { email, line, text, timestamp } from '../../operations/schemas.ts'

export const ListType = z.enum(['newsletter', 'waitlist', 'announcement'])

/** A list with its counts and its mailbox's address, as every query here answers it. */
export interface ListRow {
  project_id: ProjectId
  id: ListId
  name: string
  subdomain: string
  type: z.output<typeof ListType>
  description: string | null
  mailbox_id: MailboxId
  mailbox_address: string
  /** When the domain that it sends from began to be used, if that was new to receivers. */
  warming_since: Date | null
  sender_name: string | null
  /** The address that was chosen to send from, `local@domain`; null for the default sender. */
  sender_local_part: string | null
  sender_domain: string | null
  sender_domain_status: 'pending' | 'verified' | 'failed' | null
  /** When that domain was verified; kept after its records were lost. */
  sender_verified_at: Date | null
  /** The domain that its site is live at, if it has one of its own. */
  site_domain: string | null
  reply_to: string | null
  confirmation_message: string | null
  postal_address: string | null
  track_opens: boolean
  track_clicks: boolean
  show_posts: boolean
  show_subscriber_count: boolean
  language: string
  accent_color: string | null
  logo_url: string | null
  welcome_message: string | null
  footer: string | null
  waitlist_capacity: number | null
  referral_boost: number
  waitlist_closed: boolean
  subscriber_count: number
  created_at: Date
}

/** A list with what waits on it, for the view of all lists. */
export interface ListSummaryRow extends ListRow {
  last_sent_at: Date | null
  to_approve: number
  scheduled: number
  drafts: number
  sending: number
}

export const ListParams = z.object({ id: idOf('lst') })
/** For what lives under a list: `/lists/{listId}/…`. */
export const UnderListParams = z.object({ listId: idOf('lst') })

const senderFields = {
  sender_email: z.string().nullable(),
  sender_domain_status: z.enum(['pending', 'verified', 'failed']).nullable(),
  warmup_status: z.enum(['warming', 'complete']).nullable(),
}

export const ListSummary = z
  .object({
    id: idOf('lst'),
    name: z.string(),
    subdomain: z.string(),
    type: ListType,
    subscriber_count: z.int().meta({ description: 'Active subscribers' }),
    ...senderFields,
    created_at: timestamp,
    last_sent_at: timestamp.nullable().optional(),
    signals: z
      .object({
        to_approve: z.int().meta({ description: 'Drafts that need approval' }),
        scheduled: z.int(),
        drafts: z.int().meta({ description: 'All drafts, those to approve among them' }),
        sending: z.int().meta({ description: 'Posts with a broadcast in flight' }),
      })
      .optional(),
  })
  .meta({ id: 'ListSummary' })

export const ListDetail = z
  .object({
    id: idOf('lst'),
    name: z.string(),
    subdomain: z.string().meta({ description: 'Unique; made from the name' }),
    type: ListType,
    description: z.string().nullable(),
    subscriber_count: z.int().meta({ description: 'Active subscribers' }),
    mailbox_id: idOf('mbx').nullable(),
    mailbox_address: z.string().nullable(),
    sender_name: z.string().nullable(),
    sender_domain: z.string().nullable(),
    ...senderFields,
    reply_to: z.string().nullable(),
    confirmation_message: z.string().nullable(),
    postal_address: z.string().nullable(),
    track_opens: z.boolean().nullable(),
    track_clicks: z.boolean().nullable(),
    show_posts: z.boolean().nullable(),
    show_subscriber_count: z.boolean().nullable(),
    language: z.string().meta({ description: 'BCP 47, such as en or pt-BR: of the site’s pages and feeds' }),
    accent_color: z.string().nullable(),
    logo_url: z.string().nullable(),
    welcome_message: z.string().nullable(),
    footer: z.string().nullable(),
    created_at: timestamp,
    waitlist_capacity: z.int().nullable().optional().meta({ description: 'Waitlists only: how many may wait; null for any number' }),
    referral_boost: z.int().optional().meta({ description: 'Waitlists only: how many places a confirmed referral moves its referrer up' }),
    waitlist_closed: z.boolean().optional().meta({ description: 'Waitlists only: nobody can join' }),
  })
  .meta({ id: 'ListDetail' })

const isLanguage = (tag: string): boolean => {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}
const isSecureUrl = (url: string): boolean => /^https:\/\/[^\s"'<>\\]+$/i.test(url) && URL.canParse(url)

/** How the public site looks and what it says beside the posts. */
const siteLook = {
  language: line(35)
    .refine(isLanguage, 'must be a language tag, such as en, de or pt-BR')
    .optional()
    .meta({ description: 'Of what the list publishes; also how its site writes dates' }),
  accent_color: line(7)
    .regex(/^#[\da-f]{6}$/i, 'must be a colour like #2f5bd0')
    .nullable()
    .optional()
    .meta({ description: 'Of links and buttons on the site; made lighter or darker by itself where it could not be read' }),
  logo_url: line(2_000)
    .refine(isSecureUrl, 'must be an address that begins with https://')
    .nullable()
    .optional()
    .meta({ description: 'A picture shown beside the name on the site' }),
  welcome_message: text(2_000).nullable().optional().meta({ description: 'Shown on the site to those who have just confirmed' }),
  footer: text(2_000).nullable().optional().meta({ description: 'Shown at the foot of every page of the site, above the postal address' }),
}

const editable = { name: line(200), description: text(5_000) }

export const NewList = z.object({ name: editable.name, type: ListType.default('newsletter'), description: editable.description.optional() })

export const ListChanges = z.object({
  name: editable.name.optional(),
  description: editable.description.nullable().optional(),
  reply_to: email.nullable().optional().meta({ description: 'Where replies go; the list’s mailbox when null' }),
  confirmation_message: text(2_000)
    .nullable()
    .optional()
    .meta({ description: 'Opening words of the double opt-in mail; new ones need the scope `send` besides' }),
  postal_address: text(500).nullable().optional().meta({ description: 'Shown at the foot of every mail' }),
  track_opens: z.boolean().optional(),
  track_clicks: z.boolean().optional(),
  show_posts: z.boolean().optional(),
  show_subscriber_count: z.boolean().optional(),
  ...siteLook,
  waitlist_capacity: z
    .int()
    .min(1)
    .max(10_000_000)
    .nullable()
    .optional()
    .meta({ description: 'Of a waitlist: how many may wait; null for any number' }),
  referral_boost: z
    .int()
    .min(0)
    .max(50)
    .optional()
    .meta({ description: 'Of a waitlist: how many places a confirmed referral moves its referrer up' }),
  waitlist_closed: z.boolean().optional().meta({ description: 'Of a waitlist: nobody can join; those who wait stay' }),
})

export const waitlistSettings = ['waitlist_capacity', 'referral_boost', 'waitlist_closed'] as const
const noWaitlist = { waitlist_capacity: undefined, referral_boost: undefined, waitlist_closed: undefined }

/** The address that was chosen to send from, if one was. */
export const chosenAddressOf = ({ sender_local_part, sender_domain }: ListRow): string | null =>
  sender_domain === null ? null : `${sender_local_part}@${sender_domain}`

/**
 * Whom mail of a list is from, as every mail says it: until a domain of its own is verified it goes out from the list's mailbox, in the
 * chosen name, and answers go to the chosen address.
 */
export function senderOf(list: ListRow): ListSender {
  const chosen = chosenAddressOf(list)
  const name = list.sender_name ?? list.name
  const reply_to = list.reply_to ?? chosen
  if (chosen === null || list.sender_domain === null || list.sender_domain_status !== 'verified')
    return { from: { name, address: list.mailbox_address }, reply_to }
  return { from: { name, address: chosen }, reply_to, return_host: returnHostOf(list.sender_domain) }
}

export interface ListSender {
  from: { name: string; address: string }
  reply_to: string | null
  /** Where bounces come, if not to MAIL_DOMAIN. */
  return_host?: string
}

/** A domain that was verified, and is not any more: what goes out in its name now would be taken for forged. */
export const isSenderLost = ({ sender_domain_status, sender_verified_at }: ListRow): boolean =>
  sender_domain_status !== null && sender_domain_status !== 'verified' && sender_verified_at !== null

const sender = (row: ListRow, now: Date) => ({
  sender_email: chosenAddressOf(row) ?? row.mailbox_address,
  warmup_status: warmUpStatusOf(row.warming_since, now),
})

const warmUpStatusOf = (warming_since: Date | null, now: Date): z.output<typeof senderFields.warmup_status> =>
  warming_since === null ? null : ceilingOn(warming_since, now) === null ? 'complete' : 'warming'

export const toListSummary = (row: ListSummaryRow, now: Date): z.output<typeof ListSummary> => ({
  ...row,
  ...sender(row, now),
  signals: { to_approve: row.to_approve, scheduled: row.scheduled, drafts: row.drafts, sending: row.sending },
})

export const toListDetail = (row: ListRow, now: Date): z.output<typeof ListDetail> => ({
  ...row,
  ...(row.type === 'waitlist' ? {} : noWaitlist),
  ...sender(row, now),
})

/** Names without a Latin letter or digit get a plain word; the caller adds a number when taken. */
export function subdomainOf(name: string): string {
  const slug = slugOf(name)
  if (slug === '') return 'list'
  return reservedNames.has(slug) ? `${slug}-list` : slug
}
