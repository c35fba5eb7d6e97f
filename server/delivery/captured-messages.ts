import { newId } from '../base/ids.ts'
import type { Queryable } from '../database/database.ts'
import type { CapturedMessage } from './transports/index.ts'

export interface StoredMessage extends CapturedMessage {
  id: string
  created_at: Date
}

/** Development keeps what it would have sent; the newest 1,000 are plenty to look at. */
const kept = 1_000

export async function storeCapturedMessage(db: Queryable, message: CapturedMessage, now: Date): Promise<void> {
  await db.run`
    insert into captured_messages (id, envelope_from, envelope_to, subject, message, created_at)
    values (${newId()}, ${message.envelope_from}, ${message.envelope_to}, ${message.subject}, ${message.message}, ${now})`
}

export const trimCapturedMessages = (db: Queryable) => db.run`
  delete from captured_messages where id in (select id from captured_messages order by created_at desc, id desc offset ${kept})`

export const capturedMessages = (db: Queryable, limit: number) => db.many<StoredMessage>`
  select * from captured_messages order by created_at desc, id desc limit ${limit}`

export const capturedMessage = (db: Queryable, id: string) => db.first<StoredMessage>`select * from captured_messages where id = ${id}`
