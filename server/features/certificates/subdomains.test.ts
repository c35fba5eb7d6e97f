import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rowOf, startWithAuthority, untilRow, visit } from '../../../tests/support/certificates.ts'
import { createProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { scopes } from '../../operations/context.ts'
import { subdomainIn } from './subdomains.ts'

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

test('forty new ones a week are the bound', async () => {
  const { body: list } = await project.post('/lists', { name: 'One too many' })
  const host = lead(`${list.subdomain}.letters.example`)
  await database.run`
    insert into certificates (host, challenges, step_since, due_at, created_at)
    select 'old' || number || '.letters.example', array['http-01'], now(), now() + interval '1 year', now() from generate_series(1, 40) number`
  await assert.rejects(open(host), refused)
  assert.equal(await rowOf(app, host), null)
  await database.run`delete from certificates where host like 'old%'`
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
