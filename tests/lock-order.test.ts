import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdName } from '../server/database/hold-name.ts'
import { startApp } from './support/posthaste.ts'
import { until } from './support/until.ts'

/** Whoever needs several names takes them in one order, whatever the order in which a list gives one up and takes another. */
const app = await startApp({ ROLES: 'http' })
const { database } = app.services

interface Change {
  /** Of the two names, by which they are held, the one that is to be taken first, and the other. */
  first: string
  second: string
  begin(): Promise<{ status: number }>
}

const isWaitedFor = async (name: string): Promise<boolean> =>
  (await database.first`
    select 1 from pg_locks where locktype = 'advisory' and not granted
      and (classid::bigint << 32 | objid::bigint) = hashtextextended(${name}, 0)`) !== null

/** Whoever waits for the first has not got the second yet. */
async function assertOrder({ first, second, begin }: Change): Promise<number> {
  let changing: ReturnType<Change['begin']> | undefined
  await database.transaction(async (tx) => {
    await holdName(tx, first)
    changing = begin()
    await until('the change to wait', () => isWaitedFor(first))
    const free = await tx.first<{ is_free: boolean }>`select pg_try_advisory_xact_lock(hashtextextended(${second}, 0)) as is_free`
    assert.equal(free?.is_free, true, `${second} was taken before ${first}`)
  })
  return (await (changing as ReturnType<Change['begin']>)).status
}

test('sender domains: by their names, the new one and the old one', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  const choose = (domain: string) =>
    project.request('PUT', `/lists/${list.id}/sender`, {
      body: JSON.stringify({ type: 'custom_domain', name: 'News', email: 'news', domain }),
      headers: { 'content-type': 'application/json' },
    })
  const [first, second] = ['sender domain a.example.com', 'sender domain b.example.com']
  assert.equal((await choose('a.example.com')).status, 200)
  assert.equal(await assertOrder({ first, second, begin: () => choose('b.example.com') }), 200)
  assert.equal(await assertOrder({ first, second, begin: () => choose('a.example.com') }), 200)
})

test('site domains: by their zones, the new one and the old one', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  const connect = (domain: string) => project.post(`/lists/${list.id}/site-domain`, { domain })
  const [first, second] = ['site domain lock-a.com', 'site domain lock-b.com']
  // The domains stand in the other order than their zones.
  assert.equal((await connect('one.lock-b.com')).status, 201)
  assert.equal(await assertOrder({ first, second, begin: () => connect('two.lock-a.com') }), 201)
  assert.equal(await assertOrder({ first, second, begin: () => connect('one.lock-b.com') }), 201)
})
