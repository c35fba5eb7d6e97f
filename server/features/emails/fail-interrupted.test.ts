import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { Queryable } from '../../database/database.ts'
import { type Statement, toStatement } from '../../database/sql.ts'
import { emptyFailedEmails, failInterruptedEmails } from './email-queries.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services

/** How the database would go about what is asked of it, if the table were large. */
async function planOf(ask: (db: Queryable) => Promise<unknown>): Promise<string> {
  const asked: Statement[] = []
  const note = async (strings: TemplateStringsArray, ...values: unknown[]) => asked.push(toStatement(strings, values))
  await ask({ run: note } as Partial<Queryable> as Queryable)
  const [{ text, values }] = asked as [Statement]
  return database.transaction(async ({ client }) => {
    await client.query('set local enable_seqscan = off')
    const { rows } = await client.query(`explain ${text}`, values)
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  })
}

test('what is looked for every ten minutes is found without reading every mail', async () => {
  assert.match(await planOf((db) => emptyFailedEmails(db, new Date())), /emails_to_empty/)
  assert.match(await planOf((db) => failInterruptedEmails(db, new Date())), /emails_sending/)
})
