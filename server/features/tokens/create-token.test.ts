import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, newId, parseId } from '../../base/ids.ts'
import { scopes } from '../../operations/context.ts'

const app = await startApp()

test('a key is answered once, whole, and works with the scopes that were asked for', async () => {
  const project = await app.newProject()
  const { status, body } = await project.post('/api/tokens', { name: ' Laptop ', scope: 'write, read,read' })
  assert.equal(status, 201)
  assert.match(body.id, /^key_[0-9a-z]{26}$/)
  assert.match(body.key, /^sk_[A-Za-z0-9]{38}$/)
  assert.ok(body.key.startsWith(body.prefix) && body.prefix.length < 12)
  const { id, key, prefix, created_at, ...rest } = body
  assert.deepEqual(rest, { name: 'Laptop', scopes: ['write', 'read'], mailbox_id: null, last_used_at: null, expires_at: null })

  const through = speaking(app.url, key)
  assert.equal((await through.post('/lists', { name: 'By key' })).status, 201)
  assert.equal((await through.get('/api/tokens')).status, 403)
  const { body: listed } = await project.get('/api/tokens')
  const shown = listed.find((token: { id: string }) => token.id === id)
  assert.equal('key' in shown, false)
  assert.ok(!JSON.stringify(listed).includes(key))
  assert.deepEqual([prefix, created_at], [shown.prefix, shown.created_at])
  assert.deepEqual(await project.events(), ['mailbox.created', 'list.created'])
})

test('only a hash of the key is stored, nowhere the key', async () => {
  const project = await app.newProject()
  const { body } = await project.post('/api/tokens', { name: 'Stored', scope: 'read' })
  const { database } = app.services
  const row = await database.first<{ hash: Buffer }>`select * from api_keys where id = ${parseId('key', body.id)}`
  assert.deepEqual(row?.hash, createHash('sha256').update(body.key).digest())
  const secret = body.key.slice(body.prefix.length)
  for (const table of ['api_keys', 'audit_log', 'events', 'messages']) {
    const { rows } = await database.execute(`select to_json(t)::text as text from ${table} t where project_id = $1`, [project.id])
    for (const { text } of rows) assert.ok(!String(text).includes(secret), table)
  }
  const audit = await database.first`select * from audit_log where project_id = ${project.id} and operation = 'tokens.create'`
  assert.notEqual(audit, null)
})

test('a key never grants more than the one that makes it has', async () => {
  const project = await app.newProject()
  for (const own of [['admin'], ['read', 'admin'], ['read', 'write', 'admin'], [...scopes]] as const) {
    const maker = await project.withKey(own)
    for (const wanted of scopes) {
      const { status, body } = await maker.post('/api/tokens', { name: 'Child', scope: `${own[0]},${wanted}` })
      if ((own as readonly string[]).includes(wanted)) assert.equal(status, 201)
      else {
        assert.equal(status, 403)
        assert.equal(body.error.code, 'forbidden')
        assert.match(body.error.message, new RegExp(`^scope: .*${wanted}`))
      }
    }
  }
  const without = await project.withKey(['read', 'write', 'send'])
  assert.equal((await without.post('/api/tokens', { name: 'x', scope: 'read' })).status, 403)
  assert.deepEqual(await project.events(), [])
})

test('a key of a mailbox has its own prefix, reaches who it is, and nothing beyond its mailbox', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Bound' })
  const { status, body } = await project.post('/api/tokens', { name: 'Bot', scope: scopes.join(','), mailbox_id: list.mailbox_id })
  assert.equal(status, 201)
  assert.match(body.key, /^sk_mbx_[A-Za-z0-9]{38}$/)
  assert.equal(body.mailbox_id, list.mailbox_id)
  await project.events()

  const bound = speaking(app.url, body.key)
  assert.equal((await bound.get('/api/me')).body.mailbox_id, list.mailbox_id)
  const answers = [
    await bound.get('/lists'),
    await bound.post('/lists', { name: 'No' }),
    await bound.delete(`/lists/${list.id}`),
    await bound.post('/api/tokens', { name: 'No', scope: 'read' }),
  ]
  for (const answer of answers) {
    assert.equal(answer.status, 403)
    assert.equal(answer.body.error.code, 'forbidden')
    assert.match(answer.body.error.message, /mailbox/)
  }
  assert.deepEqual(await project.events(), [])
})

test('a key expires when it was said to', async () => {
  const project = await app.newProject()
  const expires_at = new Date(app.clock.now().getTime() + 3_600_000).toISOString().replace('Z', '+00:00')
  const { status, body } = await project.post('/api/tokens', { name: 'Brief', scope: 'read', expires_at })
  assert.equal(status, 201)
  assert.equal(body.expires_at, expires_at.replace('+00:00', 'Z'))
  const through = speaking(app.url, body.key)
  assert.equal((await through.get('/lists')).status, 200)
  app.clock.advance(3_599_000)
  assert.equal((await through.get('/lists')).status, 200)
  app.clock.advance(2_000)
  const { status: late, body: refusal } = await through.get('/lists')
  assert.equal(late, 401)
  assert.equal(refusal.error.code, 'unauthorized')
})

test('a key that ends makes none that outlives it', async () => {
  const project = await app.newProject()
  const expires_at = new Date(app.clock.now().getTime() + 3_600_000).toISOString()
  const { body: brief } = await project.post('/api/tokens', { name: 'Brief', scope: 'admin', expires_at })
  const through = speaking(app.url, brief.key)
  const later = new Date(app.clock.now().getTime() + 7_200_000).toISOString()
  for (const wanted of [undefined, null, later]) {
    const { body } = await through.post('/api/tokens', { name: 'Heir', scope: 'admin', expires_at: wanted })
    assert.equal(body.expires_at, expires_at)
  }
})

test('what is wrong is named, and no key is made', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const { body: foreign } = await other.post('/lists', { name: 'Foreign' })
  const { body: gone } = await project.post('/lists', { name: 'Gone' })
  await project.delete(`/lists/${gone.id}`)
  await project.events()
  const good = { name: 'x', scope: 'read' }
  const cases: [unknown, RegExp][] = [
    [undefined, /^name: is required; scope: is required/],
    [{ scope: 'read' }, /^name: is required/],
    [{ ...good, name: '  ' }, /^name: must not be empty/],
    [{ ...good, name: 'x'.repeat(101) }, /^name: must have at most 100/],
    [{ name: 'x' }, /^scope: is required/],
    [{ name: 'x', scope: '' }, /^scope: must name at least one/],
    [{ name: 'x', scope: ' , ' }, /^scope: must name at least one/],
    [{ name: 'x', scope: 'read,root' }, /^scope.*: must be one of read, write, send, admin/],
    [{ name: 'x', scope: 'READ' }, /^scope/],
    [{ name: 'x', scope: ['read'] }, /^scope: must be a string/],
    [{ ...good, mailbox_id: 'x' }, /^mailbox_id: /],
    [{ ...good, mailbox_id: formatId('mbx', newId()) }, /^mailbox_id: names no mailbox/],
    [{ ...good, mailbox_id: foreign.mailbox_id }, /^mailbox_id: names no mailbox/],
    [{ ...good, mailbox_id: gone.mailbox_id }, /^mailbox_id: names no mailbox/],
    [{ ...good, expires_at: 'tomorrow' }, /^expires_at: must be an ISO 8601 time/],
    [{ ...good, expires_at: '2020-01-01T00:00:00Z' }, /^expires_at: must be in the future/],
    [{ ...good, expires_at: 1_900_000_000 }, /^expires_at: /],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post('/api/tokens', body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.equal(answer.body.error.code, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  assert.equal((await project.get('/api/tokens')).body.length, 1)
  assert.deepEqual(await project.events(), [])
})

test('somebody’s full key makes keys for their other projects, as far as they rule there, and no lesser key does', async () => {
  const [project, other, foreign] = [await app.newProject(), await app.newProject(), await app.newProject()]
  const id = formatId('prj', other.id)
  const wish = { name: 'There', scope: 'read,admin', project_id: id }
  const asMember = (role: string) =>
    app.services.database.run`
      insert into members (project_id, user_id, role) values (${other.id}, ${project.user_id}, ${role})
      on conflict (project_id, user_id) do update set role = ${role}`
  const refused = async (who: typeof project, body: object, status: number, message: RegExp) => {
    const answer = await who.post('/api/tokens', body)
    assert.equal(answer.status, status, JSON.stringify(answer.body))
    assert.match(answer.body.error.message, message)
  }
  await refused(project, wish, 422, /^project_id: names no project of yours/)
  await refused(project, { ...wish, project_id: formatId('prj', newId()) }, 422, /^project_id: names no project of yours/)
  for (const role of ['viewer', 'editor']) {
    await asMember(role)
    await refused(project, wish, 403, new RegExp(`you are its ${role}`))
  }
  await asMember('admin')
  const { body: list } = await project.post('/lists', { name: 'Here' })
  await refused(project, { ...wish, mailbox_id: list.mailbox_id }, 422, /^mailbox_id: names no mailbox/)
  await refused(await project.withKey(['read', 'admin']), wish, 403, /all scopes/)
  assert.equal((await other.get('/api/tokens')).body.length, 1)

  const { status, body: token } = await project.post('/api/tokens', wish)
  assert.deepEqual([status, token.scopes], [201, ['read', 'admin']])
  const { body: me } = await speaking(app.url, token.key).get('/api/me')
  assert.deepEqual([me.project.id, me.user.id], [id, formatId('usr', project.user_id)])
  const audits = await app.services.database.many`
    select project_id, user_id from audit_log where operation = 'tokens.create' and project_id in (${other.id}, ${foreign.id})`
  assert.deepEqual(audits, [{ project_id: other.id, user_id: project.user_id }])
  await asMember('viewer')
  const through = speaking(app.url, token.key)
  await until(
    'it may do no more than its maker',
    async () => (await through.post('/api/tokens', { name: 'No', scope: 'read' })).status === 403,
  )
  assert.equal(
    (await (await project.withKey(['admin'])).post('/api/tokens', { name: 'Own', scope: 'admin', project_id: formatId('prj', project.id) }))
      .status,
    201,
  )
  await other.delete(`/api/projects/${id}`)
  await refused(project, wish, 422, /^project_id: names no project of yours/)
  assert.deepEqual([...(await foreign.events()), ...(await project.events())], ['mailbox.created', 'list.created'])
})
