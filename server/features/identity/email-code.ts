import { randomInt, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { hashOfSecret, makeSecret } from '../../base/secrets.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { type Fragment, sql } from '../../database/sql.ts'
import { mailboxKeyOf } from '../../mail/address.ts'
import type { Services } from '../../operations/context.ts'
import { findUserByAddress } from './identity-queries.ts'
import { type Notice, sendNotice } from './notice.ts'

/**
 * Six digits that prove a mailbox. They live ten minutes and die after five tries; a new code for the same asker replaces the old one.
 * How many there are is limited whether or not the mailbox has an account, so that neither the answer nor its time tells which addresses
 * are known. To claim an agent, one mailbox gets one a minute and five an hour. To sign in, that much for each place that asks, and for
 * all together a little more: a stranger must not use up what the owner of the mailbox needs, nor guess for ever. A browser that has
 * signed in with this address before is not counted with the strangers.
 */
const validMs = 10 * 60_000
const maxTries = 5
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

export interface CodeRequest {
  purpose: 'sign_in' | 'claim'
  address: { address: string; key: string }
  /** What only the asker knows (a cookie, a claim token): the code is of no use without it. */
  binding: string
  ip: string
  /** The asker has proved this address before. */
  isKnown?: boolean
  /** For somebody who may not come in: everything is done as ever, and no six digits will ever be right. */
  isDecoy?: boolean
  /** The mail that brings the code. */
  notice(code: string): Omit<Notice, 'to'>
}

export async function issueCode(services: Pick<Services, 'config' | 'secrets'>, tx: Transaction, request: CodeRequest): Promise<void> {
  const { purpose, address, ip } = request
  await refuseTooMany(services, tx, request)
  const code = randomInt(1_000_000).toString().padStart(6, '0')
  const id = newId()
  const awaited = request.isDecoy ? makeSecret() : code
  await tx.run`
    insert into email_codes (id, purpose, email, email_key, mailbox_key, code_hmac, binding, ip, is_known, created_at, expires_at)
    values (${id}, ${purpose}, ${address.address}, ${address.key}, ${mailboxKeyOf(address.key)}, ${services.secrets.mac('email_code', `${id} ${awaited}`)},
      ${hashOfSecret(request.binding)}, ${ip}, ${request.isKnown ?? false}, ${tx.now}, ${new Date(tx.now.getTime() + validMs)})`
  // To the address as the account has it: two spellings that compare alike must not be two mailboxes with one account.
  const account = await findUserByAddress(tx, address.key)
  await sendNotice(services, tx, { ...request.notice(code), to: account?.email ?? address.address })
}

async function refuseTooMany({ config }: Pick<Services, 'config'>, tx: Transaction, request: CodeRequest): Promise<void> {
  // Looked at before anybody waits for a lock: a flood that is refused holds up nobody.
  await refuseNow(tx, limitsOf(request, config))
  // Two requests for one mailbox, or from one place, at the same moment count each other. Always in this order: nobody waits in a ring.
  await tx.run`select pg_advisory_xact_lock(hashtextextended(${`codes ${mailboxKeyOf(request.address.key)}`}, 0))`
  await tx.run`select pg_advisory_xact_lock(hashtextextended(${`codes from ${request.ip}`}, 0))`
  await refuseNow(tx, limitsOf(request, config))
}

interface Limit {
  which: Fragment
  max: number
  withinMs: number
}

function limitsOf({ purpose, address, binding, ip, isKnown }: CodeRequest, config: Pick<Services['config'], 'CODES_PER_HOUR'>): Limit[] {
  const mailbox_key = mailboxKeyOf(address.key)
  const mailbox = sql`mailbox_key = ${mailbox_key} and purpose = ${purpose}`
  const asker = purpose === 'claim' ? mailbox : sql`mailbox_key = ${mailbox_key} and purpose = 'sign_in' and ip = ${ip}`
  const strangers = sql`mailbox_key = ${mailbox_key} and purpose = 'sign_in' and not is_known`
  return [
    { which: asker, max: 1, withinMs: minuteMs },
    { which: asker, max: 5, withinMs: hourMs },
    { which: mailbox, max: 50, withinMs: dayMs },
    ...(purpose === 'sign_in' && !isKnown
      ? [
          { which: strangers, max: 10, withinMs: hourMs },
          { which: strangers, max: 30, withinMs: dayMs },
        ]
      : []),
    { which: sql`binding = ${hashOfSecret(binding)}`, max: 5, withinMs: hourMs },
    { which: sql`ip = ${ip}`, max: config.CODES_PER_HOUR, withinMs: hourMs },
  ]
}

async function refuseNow(tx: Transaction, limits: Limit[]): Promise<void> {
  let waitMs = 0
  for (const limit of limits) waitMs = Math.max(waitMs, await waitFor(tx, limit))
  const seconds = Math.ceil(waitMs / 1000)
  if (seconds <= 0) return
  throw new ApiError(
    'rate_limited',
    `Codes were asked for too often. Wait ${seconds} s; a code that you asked for in the meantime works.`,
    {
      headers: { 'retry-after': String(seconds) },
    },
  )
}

/** How long until another one of these codes may go; 0 for now. */
async function waitFor(tx: Transaction, { which, max, withinMs }: Limit): Promise<number> {
  const since = new Date(tx.now.getTime() - withinMs)
  const counted = await tx.first<{ created_at: Date }>`
    select created_at from email_codes where ${which} and created_at > ${since} order by created_at desc offset ${max - 1} limit 1`
  return counted ? counted.created_at.getTime() - since.getTime() : 0
}

export type CodeOutcome =
  | { outcome: 'right'; id: string; email: string; email_key: string }
  | { outcome: 'wrong' | 'exhausted' | 'expired' | 'none' }

interface CodeRow {
  id: string
  email: string
  email_key: string
  code_hmac: Buffer
  tries: number
  expires_at: Date
}

/**
 * Counts the try before it looks at the digits, in a statement of its own: whatever fails afterwards, a guess is a guess. The right
 * code is used up; two right answers at once count once.
 */
export async function tryCode(
  { database, secrets, clock }: Pick<Services, 'database' | 'secrets' | 'clock'>,
  { purpose, binding, code }: { purpose: CodeRequest['purpose']; binding: string; code: string },
): Promise<CodeOutcome> {
  const now = clock.now()
  const row = await database.first<CodeRow>`
    update email_codes set tries = tries + 1 where id = (
      select id from email_codes where binding = ${hashOfSecret(binding)} and purpose = ${purpose} and used_at is null
      order by created_at desc limit 1)
    and tries < ${maxTries} and used_at is null
    returning *`
  if (!row) return { outcome: (await hasCode(database, purpose, binding)) ? 'exhausted' : 'none' }
  if (row.expires_at <= now) return { outcome: 'expired' }
  if (!timingSafeEqual(row.code_hmac, secrets.mac('email_code', `${row.id} ${code.replace(/\s/g, '')}`))) return { outcome: 'wrong' }
  const taken = await database.run`update email_codes set used_at = ${now} where id = ${row.id} and used_at is null`
  return taken === 1 ? { outcome: 'right', id: row.id, email: row.email, email_key: row.email_key } : { outcome: 'none' }
}

/** What the right code was brought for could not be done: it may be brought again. */
export const reopenCode = (db: Queryable, id: string) => db.run`update email_codes set used_at = null where id = ${id}`

const hasCode = async (db: Queryable, purpose: CodeRequest['purpose'], binding: string): Promise<boolean> =>
  (await db.first`select 1 from email_codes where binding = ${hashOfSecret(binding)} and purpose = ${purpose} and used_at is null`) !== null

/** The code that this asker could still bring: not used, not over, not tried too often. */
export const findOpenCode = (tx: Transaction, purpose: CodeRequest['purpose'], binding: string) => tx.first<{ expires_at: Date }>`
  select expires_at from (
    select * from email_codes where binding = ${hashOfSecret(binding)} and purpose = ${purpose} order by created_at desc, id desc limit 1) newest
  where used_at is null and expires_at > ${tx.now} and tries < ${maxTries}`

/** The newest code of this asker has done its work. */
export const hasUsedCode = async (db: Queryable, purpose: CodeRequest['purpose'], binding: string): Promise<boolean> => {
  const newest = await db.first<{ used_at: Date | null }>`
    select used_at from email_codes where binding = ${hashOfSecret(binding)} and purpose = ${purpose} order by created_at desc, id desc limit 1`
  return newest?.used_at != null
}

/** Where the code that this asker waits for was sent; null when none is waited for. */
export const findCodeAddress = async (db: Queryable, purpose: CodeRequest['purpose'], binding: string): Promise<string | null> => {
  const row = await db.first<{ email: string }>`
    select email from email_codes where binding = ${hashOfSecret(binding)} and purpose = ${purpose} and used_at is null
    order by created_at desc limit 1`
  return row?.email ?? null
}

/** Kept for the day in which they are counted, and a little. */
export const pruneCodes = (db: Queryable, now: Date) => db.run`
  delete from email_codes where created_at < ${now}::timestamptz - interval '25 hours'`
