import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'

const { database } = (await startApp({ ROLES: 'http' })).services
await database.run`create table noted (word text unique)`
const words = async () => (await database.many<{ word: string }>`select word from noted order by word`).map(({ word }) => word)

test('a transaction of one statement commits it, then wakes', async () => {
  let woken = 0
  await database.transaction(
    async (tx) => {
      tx.afterCommit(() => woken++)
      await tx.run`insert into noted values ('one')`
      assert.equal(woken, 0)
    },
    { single: true },
  )
  assert.deepEqual([woken, await words()], [1, ['one']])
})

test('one that fails changes nothing and wakes nobody; a second statement is refused', async () => {
  let woken = 0
  const twice = database.transaction(
    async (tx) => {
      tx.afterCommit(() => woken++)
      await tx.many`select word from noted`
      await tx.run`insert into noted values ('two')`
    },
    { single: true },
  )
  await assert.rejects(twice, /one statement was given a second one/)
  const clash = database.transaction(
    async (tx) => {
      tx.afterCommit(() => woken++)
      await tx.run`insert into noted values ('three'), ('one')`
    },
    { single: true },
  )
  await assert.rejects(clash, /duplicate key/)
  assert.deepEqual([woken, await words()], [0, ['one']])
})
