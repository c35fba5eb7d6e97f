import assert from 'node:assert/strict'
import { test } from 'node:test'
import { posthaste } from '../../tests/support/command-line.ts'
import { urlOf } from '../../tests/support/empty-database.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import type { Check } from './doctor-check.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services
const env = {
  DATABASE_URL: urlOf(app.connection),
  SECRET_KEY: String(app.config.SECRET_KEY),
  PORT: '0',
  SMTP_PORT: '0',
  PUBLIC_URL: 'https://news.example.org',
  DNS_SERVERS: '127.0.0.1:1',
}
const addressesOf = async (project_id: string) =>
  (
    await database.many<{
      address: string
    }>`select address from mailboxes where project_id = ${project_id} and deleted_at is null order by id`
  ).map(({ address }) => address)
const doctorsAddresses = async () => {
  const { stdout } = await posthaste(['doctor', '--json'], { ...env, OUTBOUND: 'smtp://127.0.0.1:1' })
  return (JSON.parse(stdout) as Check[]).filter(({ name }) => name === 'addresses')
}

test('lists and mailboxes of a trial move to MAIL_DOMAIN; what somebody has there already, and domains of senders, stay', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const { body: list } = await project.post('/lists', { name: 'My newsletter' })
  await project.post('/mailboxes', { address: 'taken@posthaste.test' })
  await project.post('/mailboxes', { address: 'signs-in@posthaste.test' })
  await database.run`insert into sender_domains (project_id, domain, status, created_at, pending_since, next_check_at)
    values (${project.id}, 'example.com', 'verified', now(), now(), now() + interval '1 year')`
  await project.post('/mailboxes', { address: 'own@example.com' })
  // Somebody else came when MAIL_DOMAIN was right, or signs in with such an address.
  const { body: elsewhere } = await other.post('/mailboxes', { address: 'taken-2@posthaste.test' })
  await database.run`update mailboxes set address = 'taken@news.example.org', address_key = 'taken@news.example.org' where address_key = ${elsewhere.address}`
  await database.run`update users set email = 'signs-in@news.example.org', email_key = 'signs-in@news.example.org'
    where id = (select owner_id from projects where id = ${other.id})`
  await project.events()
  assert.deepEqual(await doctorsAddresses(), [
    {
      name: 'addresses',
      state: 'bad',
      seen: `3 addresses, such as my-newsletter@posthaste.test, are at posthaste.test, which is neither MAIL_DOMAIN nor a verified sender`,
      next: 'Run "posthaste move-addresses posthaste.test", which puts news.example.org in its place.',
    },
  ])

  const moved = await posthaste(['move-addresses', 'Posthaste.test'], env)
  assert.equal(moved.code, 0, moved.stderr)
  assert.deepEqual(moved.stdout.split('\n').slice(0, 2), [
    'Moved 1 address from posthaste.test to news.example.org.',
    'Left where they are, because somebody has that name at news.example.org already: taken@posthaste.test, signs-in@posthaste.test. Delete them, or free those names and run this again.',
  ])
  assert.deepEqual(await addressesOf(project.id), [
    'my-newsletter@news.example.org',
    'taken@posthaste.test',
    'signs-in@posthaste.test',
    'own@example.com',
  ])
  assert.deepEqual(await project.events(), ['mailbox.updated'])
  const after = await project.get(`/lists/${list.id}`)
  assert.deepEqual(
    [after.body.mailbox_address, after.body.sender_email],
    ['my-newsletter@news.example.org', 'my-newsletter@news.example.org'],
  )
  const audit = await database.many`select target from audit_log where project_id = ${project.id} and operation = 'addresses.move'`
  assert.deepEqual(audit, [{ target: { from: 'posthaste.test', to: 'news.example.org' } }])
})

test('what an agent is called by moves along', async () => {
  assert.equal((await registerAgent()).status, 201)
  const [row] = await database.many<{ email: string; project_id: string }>`
    select u.email, p.id as project_id from users u join projects p on p.owner_id = u.id where u.kind = 'agent'`
  assert.match(row?.email ?? '', /@posthaste\.test$/)
  assert.equal((await posthaste(['move-addresses', 'posthaste.test'], env)).code, 0)
  const [after] = await database.many<{ email: string }>`select email from users where kind = 'agent'`
  assert.equal(after?.email, row?.email.replace('posthaste.test', 'news.example.org'))
  assert.deepEqual(await addressesOf(row?.project_id ?? ''), [after?.email])
})

const registerAgent = () =>
  fetch(`${app.url}/agent/auth`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'anonymous' }),
  })

test('it needs somewhere to move to, and something to move', async () => {
  const [trial, same, none] = await Promise.all([
    posthaste(['move-addresses', 'news.example.org'], { ...env, MAIL_DOMAIN: 'posthaste.test' }),
    posthaste(['move-addresses', 'news.example.org'], env),
    posthaste(['move-addresses', 'nowhere.example.org'], env),
  ])
  assert.match(trial.stderr, /^MAIL_DOMAIN is posthaste\.test, a name for trials\. Set it to your domain first\.\n$/)
  assert.equal(same.stderr, 'news.example.org is MAIL_DOMAIN already.\n')
  assert.equal(none.stderr, 'No list and no mailbox has an address at nowhere.example.org.\n')
  assert.deepEqual([trial.code, same.code, none.code], [1, 1, 1])
})
