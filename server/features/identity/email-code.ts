import { randomInt, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { type Notice, sendNotice } from './notice.ts'

/**
 * Six digits that prove a mailbox. They live ten minutes and die after five tries; a new code for the same asker replaces the old one.
 * One mailbox gets one a minute and five an hour, whoever asks and whether or not it has an account, so that neither the answer
 * nor its time tells which addresses are known.
 */
const validMs = 10 * 60_000
const maxTries = 5
const maxPerHour = 5
const hourMs = 3_600_000
const minuteMs = 60_000

export interface CodeRequest {
  purpose: 'sign_in' | 'claim'
  address: { address: string; key: string }
  /** What only the asker knows (a cookie, a claim token): the code is of no use without it. */
  binding: string
  ip: string
  /** The mail that brings the code. */
  notice(code: string): Omit<Notice, 'to'>
}

export async function issueCode(services: Pick<Services, 'config' | 'secrets'>, tx: Transaction, request: CodeRequest): Promise<void> {
  const { purpose, address, ip } = request
  await refuseTooMany(services, tx, request)
  const code = randomInt(1_000_000).toString().padStart(6, '0')
  const id = newId()
  await tx.run`
    insert into email_codes (id, purpose, email, email_key, code_hmac, binding, ip, created_at, expires_at)
    values (${id}, ${purpose}, ${address.address}, ${address.key}, ${services.secrets.mac('email_code', `${id} ${code}`)},
      ${hashOfSecret(request.binding)}, ${ip}, ${tx.now}, ${new Date(tx.now.getTime() + validMs)})`
  await sendNotice(services, tx, { ...request.notice(code), to: address.address })
}

async function refuseTooMany({ config }: Pick<Services, 'config'>, tx: Transaction, { address, ip }: CodeRequest): Promise<void> {
  // Two requests for one mailbox at the same moment count each other.
  await tx.run`select pg_advisory_xact_lock(hashtextextended(${`codes ${address.key}`}, 0))`
  const since = new Date(tx.now.getTime() - hourMs)
  const sent = await tx.many<{ created_at: Date }>`
    select created_at from email_codes where email_key = ${address.key} and created_at > ${since} order by created_at desc limit ${maxPerHour}`
  const asked = await tx.many<{ created_at: Date }>`
    select created_at from email_codes where ip = ${ip} and created_at > ${since} order by created_at desc limit ${config.CODES_PER_HOUR}`
  const waits = [
    sent[0] ? minuteMs - (tx.now.getTime() - sent[0].created_at.getTime()) : 0,
    sent.length === maxPerHour ? hourMs - (tx.now.getTime() - sent[maxPerHour - 1]!.created_at.getTime()) : 0, // just counted
    asked.length === config.CODES_PER_HOUR ? hourMs - (tx.now.getTime() - asked[asked.length - 1]!.created_at.getTime()) : 0, // just counted
  ]
  const seconds = Math.ceil(Math.max(...waits) / 1000)
  if (seconds <= 0) return
  throw new ApiError('rate_limited', `A code was asked for too often. Wait ${seconds} s, and use the newest code that arrived.`, {
    headers: { 'retry-after': String(seconds) },
  })
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

/** Kept for the hour in which they are counted, and a little. */
export const pruneCodes = (db: Queryable, now: Date) => db.run`
  delete from email_codes where created_at < ${now}::timestamptz - interval '1 day'`
