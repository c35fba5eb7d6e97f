import type { Clock } from '../base/clock.ts'
import { rememberBriefly } from '../base/recent.ts'
import type { Secrets } from '../base/secrets.ts'
import type { Queryable } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { mailboxKeyOf, parseAddress } from '../mail/address.ts'
import { isOwnAddress, replyIdIn } from './own-addresses.ts'
import { type Refusal, refusals } from './refusal.ts'

interface Needs {
  database: Queryable
  secrets: Secrets
  clock: Clock
  mailDomain: string
}

export type RecipientAnswer =
  /** `address` is the one to deliver to. An own one carries our signature: whoever writes to it has had mail from us. */
  { kind: 'accepted'; address: string; isOwn: boolean } | { kind: 'refused'; refusal: Refusal }

interface KnownMailbox {
  status: 'active' | 'paused' | 'disabled'
  expires_at: Date | null
}

/** Who may be written to: RCPT TO by RCPT TO. What a look-up said is trusted for half a second. */
export function createRecipientCheck({ database, secrets, clock, mailDomain }: Needs): (address: string) => Promise<RecipientAnswer> {
  const find = rememberBriefly((key) => findMailbox(database, key))
  const findBehind = rememberBriefly((id) => findMailboxBehind(database, id))
  return async (written) => {
    // RFC 5321 section 4.1.1.3: the one recipient that needs no domain.
    const address = written.toLowerCase() === 'postmaster' ? `postmaster@${mailDomain}` : withoutNeedlessQuotes(written)
    if (isOwnAddress(secrets, address)) return { kind: 'accepted', address, isOwn: true }
    const reply = replyIdIn(secrets, address)
    const parsed = parseAddress(address)
    const mailbox = reply !== null ? await findBehind(reply) : parsed.ok ? await find(parsed.value.key) : null
    const refusal = refusalFor(mailbox, clock.now())
    return refusal ? { kind: 'refused', refusal } : { kind: 'accepted', address, isOwn: reply !== null }
  }
}

/** Quotes around a local part that needs none mean the same (RFC 5321 section 4.1.2). */
const withoutNeedlessQuotes = (address: string): string => address.replace(/^"([\w!#$%&'*+/=?^`{|}~.-]+)"@/, '$1@')

function refusalFor(mailbox: KnownMailbox | null, now: Date): Refusal | null {
  if (!mailbox || (mailbox.expires_at && mailbox.expires_at <= now)) return refusals.no_mailbox
  if (mailbox.status === 'disabled') return refusals.closed_mailbox
  return mailbox.status === 'paused' ? refusals.paused_mailbox : null
}

/** Of a mailbox `m`: another project has its domain now, and what comes for it. */
const othersDomain = sql`
  select 1 from sender_domains d where d.domain = split_part(m.address, '@', 2) and d.status = 'verified' and d.project_id <> m.project_id`

/** Of all projects: an address belongs to one of them at most, and not to one whose domain is another's now. `name+anything@` is `name@`, unless somebody has just that address. */
const findMailbox = (db: Queryable, key: string) => db.first<KnownMailbox>`
  select m.status, m.expires_at
  from mailboxes m join projects on projects.id = m.project_id
  where address_key in (${key}, ${mailboxKeyOf(key)}) and m.deleted_at is null and projects.deleted_at is null
    and not exists (${othersDomain})
  order by address_key = ${key} desc
  limit 1`

/** The one that its owner answers through: what takes no mail sends none either. */
const findMailboxBehind = (db: Queryable, id: string) => db.first<KnownMailbox>`
  select m.status, m.expires_at
  from proxy_addresses a
  join mailboxes m on m.project_id = a.project_id and m.id = a.mailbox_id and m.deleted_at is null
  join projects p on p.id = m.project_id and p.deleted_at is null
  where a.id = ${id} and not exists (${othersDomain})`
