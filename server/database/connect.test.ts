import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { onDatabase, testServer, withClient } from '../../tests/support/database.ts'
import { urlOf } from '../../tests/support/empty-database.ts'
import { readConfig } from '../base/config.ts'
import { OperatorError } from '../base/errors.ts'
import { createLog } from '../base/log.ts'
import { connectDatabase } from './connect.ts'

test('a database that lacks letters is refused at the start, with what to do', async () => {
  const name = `posthaste_test_${randomBytes(6).toString('hex')}`
  const admin = onDatabase(testServer(), 'postgres')
  const create = `create database ${name} encoding 'LATIN1' locale_provider libc locale 'C' template template0`
  await withClient(admin, (client) => client.query(create))
  try {
    const connect = (database: string) =>
      connectDatabase(readConfig({ DATABASE_URL: urlOf(onDatabase(testServer(), database)) }), createLog('silent'))
    await assert.rejects(connect(name), (error: Error) => {
      assert.ok(error instanceof OperatorError)
      assert.match(error.message, /is encoded in LATIN1, .*createdb -E UTF8 -T template0/)
      return true
    })
    await (await connect('postgres')).stop()
  } finally {
    await withClient(admin, (client) => client.query(`drop database ${name}`))
  }
})
