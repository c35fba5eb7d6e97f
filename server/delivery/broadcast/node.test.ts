import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight, newList } from '../../../tests/support/posts.ts'
import { type DeliveryId, newId, parseId } from '../../base/ids.ts'
import { type SendingNode, startNode } from './node.ts'

const app = await startApp({ ROLES: 'http' })
const { database, clock, log } = app.services
const dataDir = mkdtempSync(join(tmpdir(), 'posthaste-node-'))
after(() => rmSync(dataDir, { recursive: true, force: true }))
const leaseMs = 400
const start = () => startNode({ database, clock, log, dataDir, leaseMs })
const folderOf = ({ id }: SendingNode) => join(dataDir, 'journals', id)

/** So many deliveries that a node has claimed. */
async function claimedBy(node: SendingNode, count: number): Promise<DeliveryId[]> {
  const { project, list } = await newList(app)
  const post_id = parseId('post', await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' }))
  const ids = Array.from({ length: count }, () => newId() as DeliveryId)
  await database.run`
    insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, status, attempts, lease_owner, next_attempt_at)
    select b.project_id, d.id, b.id, gen_random_uuid(), gen_random_uuid(), d.id || '@example.org', 'sending', 1, ${node.id}, now() - interval '1 second'
    from broadcasts b cross join unnest(${ids}::uuid[]) as d (id) where b.project_id = ${project.id} and b.post_id = ${post_id}`
  return ids
}
const statusesOf = async (ids: DeliveryId[]) =>
  Promise.all(ids.map(async (id) => (await database.first<{ status: string }>`select status from deliveries where id = ${id}`)?.status))

test('who lives buries who died beside it, without being started again; who else lives is left alone', async () => {
  const [here, dead, alive] = [await start(), await start(), await start()]
  const [accepted, unknown] = (await claimedBy(dead, 2)) as [DeliveryId, DeliveryId]
  const held = await claimedBy(alive, 1)
  dead.journal.append(accepted)
  // With something in its journal that nobody has settled, its end is that of a process that was killed.
  dead.stop()
  assert.ok(existsSync(folderOf(dead)))
  await sleep(leaseMs / 2)
  // Two parts of a sender ask at once: neither goes on before it is done.
  await Promise.all([here.buryDead(), here.buryDead().then(async () => assert.equal((await statusesOf([accepted]))[0], 'delivered'))])
  assert.deepEqual(await statusesOf([accepted, unknown, ...held]), ['delivered', 'queued', 'sending'])
  assert.deepEqual([existsSync(folderOf(dead)), existsSync(folderOf(alive)), existsSync(folderOf(here))], [false, true, true])
  await sleep(leaseMs / 2)
  await here.buryDead()
  assert.deepEqual(await statusesOf(held), ['sending'])
  here.stop()
  alive.stop()
})

test('who looks while another buries waits for the end of it', async () => {
  const [one, other, dead] = [await start(), await start(), await start()]
  const ids = await claimedBy(dead, 50)
  for (const id of ids) dead.journal.append(id)
  dead.stop()
  await sleep(leaseMs / 2)
  const seen: (string | undefined)[] = []
  await Promise.all([one, other].map((node) => node.buryDead().then(async () => void seen.push(...(await statusesOf(ids))))))
  assert.deepEqual([...new Set(seen)], ['delivered'])
  one.stop()
  other.stop()
})

test('as long as the database is away nobody is buried, and what was to come after does not happen', async () => {
  const [here, dead] = [await start(), await start()]
  const [accepted] = (await claimedBy(dead, 1)) as [DeliveryId]
  dead.journal.append(accepted)
  dead.stop()
  await sleep(leaseMs / 2)
  await database.run`alter table deliveries rename to deliveries_away`
  await assert.rejects(here.buryDead())
  await database.run`alter table deliveries_away rename to deliveries`
  await here.buryDead()
  assert.deepEqual(await statusesOf([accepted]), ['delivered'])
  here.stop()
})
