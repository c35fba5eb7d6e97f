import { randomInt, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { hashOfSecret, makeSecret } from '../../base/secrets.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { type Fragment, sql } from '../../database/sql.ts'
import type { Services } from '../../operations/context.ts'
import { type Notice, sendNotice } from './notice.ts'

/**
 * Six digits that prove a mailbox. They live ten minutes and die after five tries; a new code for the same asker replaces the old one.
 * One mailbox gets one a minute, five an hour and twenty a day (a hundred guesses in a million), whoever asks and whether or not it has
 * an account, so that neither the answer nor its time tells which addresses are known.
 */
const validMs = 10 * 60_000
const maxTries = 5
const maxPerHour = 5
const maxPerDay = 20
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

export interface CodeRequest {
  purpose: 'sign_in' | 'claim'
  address: { address: string; key: string }
  /** What only the asker knows (a cookie, a claim token): the code is of no use without it. */
  binding: string
  ip: string
  /** For somebody who may not come in: everything is done as ever, and no six digits will ever be right. */
  isDecoy?: boolean
  /** The mail that brings the code; to the address as it was given, unless it says otherwise. */
  notice(code: string): Omit<Notice, 'to'> & { to?: string }
}

export async function issueCode(services: Pick<Services, 'config' | 'secrets'>, tx: Transaction, request: CodeRequest): Promise<void> {
  const { purpose, address, ip } = request
  await refuseTooMany(services, tx, request)
  const code = randomInt(1_000_000).toString().padStart(6, '0')
  const id = newId()
  const awaited = request.isDecoy ? makeSecret() : code
  await tx.run`
    insert into email_codes (id, purpose, email, email_key, code_hmac, binding, ip, created_at, expires_at)
    values (${id}, ${purpose}, ${address.address}, ${address.key}, ${services.secrets.mac('email_code', `${id} ${awaited}`)},
      ${hashOfSecret(request.binding)}, ${ip}, ${tx.now}, ${new Date(tx.now.getTime() + validMs)})`
  await sendNotice(services, tx, { to: address.address, ...request.notice(code) })
}

async function refuseTooMany({ config }: Pick<Services, 'config'>, tx: Transaction, { address, binding, ip }: CodeRequest): Promise<void> {
  // Two requests for one mailbox, or from one place, at the same moment count each other. Always in this order: nobody waits in a ring.
  await tx.run`select pg_advisory_xact_lock(hashtextextended(${`codes ${address.key}`}, 0))`
  await tx.run`select pg_advisory_xact_lock(hashtextextended(${`codes from ${ip}`}, 0))`
  const toMailbox = sql`email_key = ${address.key}`
  const waits = [
    await waitFor(tx, toMailbox, { max: 1, withinMs: minuteMs }),
    await waitFor(tx, toMailbox, { max: maxPerHour, withinMs: hourMs }),
    await waitFor(tx, toMailbox, { max: maxPerDay, withinMs: dayMs }),
    await waitFor(tx, sql`binding = ${hashOfSecret(binding)}`, { max: maxPerHour, withinMs: hourMs }),
    await waitFor(tx, sql`ip = ${ip}`, { max: config.CODES_PER_HOUR, withinMs: hourMs }),
  ]
  const seconds = Math.ceil(Math.max(...waits) / 1000)
  if (seconds <= 0) return
  throw new ApiError('rate_limited', `A code was asked for too often. Wait ${seconds} s, and use the newest code that arrived.`, {
    headers: { 'retry-after': String(seconds) },
  })
}

/** How long until another one of these codes may go; 0 for now. */
async function waitFor(tx: Transaction, which: Fragment, { max, withinMs }: { max: number; withinMs: number }): Promise<number> {
  const since = new Date(tx.now.getTime() - withinMs)
  const counted = await tx.first<{ created_at: Date }>`
    select created_at from email_codes where ${which} and created_at > ${since} order by created_at desc offset ${max - 1} limit 1`
  return counted ? counted.created_at.getTime() - since.getTime() : 0
}

export type CodeOutcome = { outcome: 'right'; email: string; email_key: string } | { outcome: 'wrong' | 'exhausted' | 'expired' | 'none' }

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
  return taken === 1 ? { outcome: 'right', email: row.email, email_key: row.email_key } : { outcome: 'none' }
}

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
