import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rowOf, startWithAuthority, untilRow, visit } from '../../../tests/support/certificates.ts'
import { createProject, type TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { scopes } from '../../operations/context.ts'
import { createSubdomainCertificates, subdomainIn } from './subdomains.ts'

const { app, acme, dns, httpsPort } = await startWithAuthority({ PUBLIC_URL: 'https://letters.example' })
const { database, config } = app.services
const project = await createProject(database, `http://127.0.0.1:${config.PORT}`, scopes)
const refused = /handshake failure|alert|ECONNRESET|hang up/i

/** As with a wildcard in DNS. */
function lead(host: string): string {
  dns.names[host] = { A: ['127.0.0.1'] }
  return host
}
const open = (host: string) => visit({ host, port: httpsPort, ca: acme.root })

test('the host of PUBLIC_URL has its certificate without anybody asking', async () => {
  const host = lead('letters.example')
  await database.run`update certificates set due_at = now() where host = ${host}`
  await untilRow(app, host, ({ chain }) => chain !== null)
  assert.equal((await open(host)).status, 200)
  assert.equal((await rowOf(app, host)).project_id, null)
})

test('only a name right below it can be that of a list', () => {
  const cases: [string, string | null][] = [
    ['weekly.letters.example', 'weekly'],
    ['a.weekly.letters.example', null],
    ['letters.example', null],
    ['weeklyletters.example', null],
    ["o'clock.letters.example", null],
    ['.letters.example', null],
    ['weekly.letters.example.evil.example', null],
  ]
  for (const [host, subdomain] of cases) assert.equal(subdomainIn(host, config), subdomain, host)
  for (const url of ['http://letters.example', 'https://localhost', 'https://192.0.2.1'])
    assert.equal(subdomainIn('weekly.letters.example', { PUBLIC_URL: url }), null, url)
})

test('the first visitor of a list’s site waits for its certificate, and gets it', async () => {
  const { body: list } = await project.post('/lists', { name: 'Fresh news' })
  const host = lead(`${list.subdomain}.letters.example`)
  // A pause of the machine may be longer than a handshake can wait; the second visitor has it in any case.
  await until(
    'the site',
    () =>
      open(host).then(
        ({ status }) => status === 200,
        () => false,
      ),
    { withinMs: 30_000 },
  )
  assert.equal((await rowOf(app, host)).project_id, project.id)
})

test('a name that no list has gets none, and nobody is asked', async () => {
  const host = lead('nobody.letters.example')
  const before = acme.orders.length
  await assert.rejects(open(host), refused)
  assert.equal(await rowOf(app, host), null)
  assert.equal(acme.orders.length, before)
})

/** The hosts of new lists of a project; none leads here, so that nobody orders what is wanted. */
async function newHosts({ post }: Pick<TestProject, 'post'>, many: number): Promise<string[]> {
  const hosts: string[] = []
  while (hosts.length < many) {
    const { body } = await post('/lists', { name: `Site ${hosts.length}` })
    hosts.push(`${body.subdomain}.letters.example`)
  }
  return hosts
}
const newProject = () => createProject(database, `http://127.0.0.1:${config.PORT}`, scopes)
const openAll = (hosts: string[]) => Promise.all(hosts.map((host) => assert.rejects(open(host), refused)))
const countOf = async ({ id }: TestProject) => (await database.many`select 1 from certificates where project_id = ${id}`).length

test('one person has five new ones a week, however many lists they make, and deleting them gives none back', async () => {
  const greedy = await newProject()
  await openAll(await newHosts(greedy, 9))
  assert.equal(await countOf(greedy), 5)
  await database.run`delete from certificates where project_id = ${greedy.id}`
  await openAll(await newHosts(greedy, 1))
  assert.equal(await countOf(greedy), 0)
  // Another project of theirs, and one of an agent of theirs, have the same share; others have their own.
  const second = await newProject()
  const agent = await newProject()
  await database.run`update projects set owner_id = ${greedy.user_id} where id = ${second.id}`
  await database.run`update users set kind = 'agent', parent_id = ${greedy.user_id} where id = ${agent.user_id}`
  const other = await newProject()
  for (const each of [second, agent, other]) await openAll(await newHosts(each, 1))
  assert.deepEqual(await Promise.all([second, agent, other].map(countOf)), [0, 0, 1])
})

test('who runs the installation may have more, and forty are the bound for all', async () => {
  await database.run`delete from subdomain_orders`
  const before = await database.first<{ owner_project_id: string }>`select owner_project_id from instance`
  const operator = await newProject()
  await database.run`update instance set owner_project_id = ${operator.id}`
  try {
    await openAll(await newHosts(operator, 7))
    assert.equal(await countOf(operator), 7)
    const others = await Promise.all(Array.from({ length: 7 }, newProject))
    const hosts = await Promise.all(others.map((each) => newHosts(each, 5)))
    await openAll(hosts.flat())
    const counts = await Promise.all(others.map(countOf))
    assert.equal(
      counts.reduce((sum, one) => sum + one, 0),
      33,
      'those that come at once take turns',
    )
    const [more] = await newHosts(operator, 1)
    await openAll([more!])
    assert.equal(await rowOf(app, more!), null)
    await database.run`update subdomain_orders set ordered_at = ordered_at - interval '8 days'`
    await openAll([more!])
    assert.notEqual(await rowOf(app, more!), null)
    assert.equal((await database.many`select 1 from subdomain_orders`).length, 1, 'what is older than a week is gone')
  } finally {
    await database.run`update instance set owner_project_id = ${before?.owner_project_id}`
  }
})

test('who comes for one host that gets no certificate shuts out nobody: the next has its order', async () => {
  await database.run`delete from subdomain_orders`
  const [[nowhere], [good]] = await Promise.all([newHosts(project, 1), newHosts(project, 1)])
  lead(good!)
  const crowd = Array.from({ length: 60 }, () => assert.rejects(open(nowhere!), refused))
  await untilRow(app, nowhere!, () => true)
  await open(good!).catch(() => null)
  assert.notEqual(await rowOf(app, good!), null)
  await Promise.all(crowd)
})

test('nobody is kept waiting for what has no chance; those who come for one host look together', async () => {
  const looks: string[] = []
  const served = {
    async contextOf(host: string) {
      looks.push(host)
      return null
    },
    stop() {},
  }
  const subdomains = createSubdomainCertificates(app.services, served)
  const state = (host: string, { failures, days }: { failures: number; days: number }) => database.run`
    insert into certificates (host, challenges, step_since, failures, due_at, created_at)
    values (${host}, array['http-01'], now(), ${failures}, now() + ${days}::integer * interval '1 day', now())`
  await state('waiting.letters.example', { failures: 0, days: 1 })
  await state('failed.letters.example', { failures: 1, days: 1 })
  for (const host of ['waiting.letters.example', 'failed.letters.example', 'Failed.letters.example.'])
    assert.equal(await subdomains.contextOf(host), null, host)
  assert.deepEqual(looks, [])
  const asked = Array.from({ length: 60 }, () => subdomains.contextOf('waiting.letters.example'))
  assert.equal(new Set(asked).size, 1)
  await Promise.all(asked)
})

test('the certificate of a list that is gone is not renewed', async () => {
  const { body: list } = await project.post('/lists', { name: 'Short lived' })
  const host = lead(`${list.subdomain}.letters.example`)
  await until(
    'the site',
    () =>
      open(host).then(
        () => true,
        () => false,
      ),
    { withinMs: 30_000 },
  )
  await project.delete(`/lists/${list.id}`)
  const before = acme.orders.length
  await database.run`update certificates set renew_at = now(), due_at = now() where host = ${host}`
  await until('it to go', async () => (await rowOf(app, host)) === null)
  assert.equal(acme.orders.length, before)
})
