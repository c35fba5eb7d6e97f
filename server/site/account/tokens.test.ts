import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { newVisitor, signIn } from '../../../tests/support/visitor.ts'

const app = await startApp()
const { database } = app.services

const keysOf = (slug: string) =>
  database.many<{ name: string; scopes: string[]; expires_at: Date | null }>`
    select k.name, k.scopes, k.expires_at from api_keys k join projects p on p.id = k.project_id where p.slug = ${slug} order by k.id`

test('a key is made, shown once, used, listed and revoked without any script', async () => {
  const ann = await signIn(app, 'ann@example.org')
  const before = await ann.get('/account/tokens')
  assert.equal(before.status, 200)
  assert.match(before.html, /There are no keys yet/)
  for (const scope of ['read', 'write', 'send', 'admin']) assert.ok(before.html.includes(`name="scope" value="${scope}"`))

  const fields: [string, string][] = [
    ['name', 'Laptop <b>'],
    ['scope', 'read'],
    ['scope', 'write'],
    ['expires', '2099-01-31'],
  ]
  const made = await ann.post('/account/tokens?project=ann', fields)
  assert.equal(made.status, 201)
  assert.equal(made.headers.get('cache-control'), 'no-store')
  const key = /<pre>(sk_\w+)<\/pre>/.exec(made.html)?.[1] ?? assert.fail(made.html)
  const me = await speaking(app.url, key).get('/api/me')
  assert.deepEqual([me.body.project.slug, me.body.scopes], ['ann', ['read', 'write']])

  const listed = await ann.get('/account/tokens?project=ann')
  assert.ok(!listed.html.includes(key))
  assert.match(listed.html, /Laptop &lt;b&gt;/)
  assert.match(listed.html, /until 2099-01-31 00:00 UTC/)
  const id = /\/account\/tokens\/(key_\w+)\/revoke/.exec(listed.html)?.[1]
  const revoked = await ann.post(`/account/tokens/${id}/revoke?project=ann`)
  assert.deepEqual([revoked.status, revoked.location], [303, '/account/tokens?project=ann'])
  assert.deepEqual(await keysOf('ann'), [])
  assert.equal((await ann.post(`/account/tokens/${id}/revoke?project=ann`)).status, 404)
  const audit = await database.many<{ operation: string; key_id: string | null }>`
    select operation, key_id from audit_log where operation like 'tokens.%' order by at, id`
  assert.deepEqual(audit, [
    { operation: 'tokens.create', key_id: null },
    { operation: 'tokens.delete', key_id: null },
  ])
})

test('what is wrong is said on the page, and no key is made', async () => {
  const bob = await signIn(app, 'bob@example.org')
  const cases: [Record<string, string>, RegExp][] = [
    [{ name: '', scope: 'read' }, /No key was made\. The name must not be empty\./],
    [{ name: 'x' }, /The choice of what it may do must name at least one/],
    [{ name: 'x', scope: 'root' }, /must be one of/],
    [{ name: 'x', scope: 'read', expires: '2020-01-01' }, /The date must be in the future\./],
    [{ name: 'x', scope: 'read', expires: 'soon' }, /The date must be an ISO 8601 time/],
    [{ name: 'x'.repeat(101), scope: 'read' }, /The name must have at most 100/],
  ]
  for (const [fields, message] of cases) {
    const answer = await bob.post('/account/tokens', fields)
    assert.equal(answer.status, 422, JSON.stringify(fields))
    assert.match(answer.html, message)
  }
  assert.deepEqual(await keysOf('bob'), [])
})

test('another’s project is not found; a role without admin sees and makes no keys', async () => {
  const [eve, owner] = [await signIn(app, 'eve@example.org'), await signIn(app, 'owner2@example.org')]
  await owner.post('/account/tokens', { name: 'Theirs', scope: 'read' })
  const id = /(key_\w+)\/revoke/.exec((await owner.get('/account/tokens')).html)?.[1]
  for (const slug of ['owner2', 'nowhere', '%00', "'", 'x'.repeat(90)])
    assert.equal((await eve.get(`/account/tokens?project=${slug}`)).status, 404, slug)
  assert.equal((await eve.post('/account/tokens?project=owner2', { name: 'x', scope: 'read' })).status, 404)
  assert.equal((await eve.post(`/account/tokens/${id}/revoke?project=owner2`)).status, 404)
  assert.equal((await eve.post(`/account/tokens/${id}/revoke`)).status, 404)

  for (const role of ['viewer', 'editor']) {
    await database.run`
      insert into members (project_id, user_id, role) select p.id, u.id, ${role} from projects p, users u where p.slug = 'owner2' and u.slug = 'eve'
      on conflict (project_id, user_id) do update set role = excluded.role`
    const page = await eve.get('/account/tokens?project=owner2')
    assert.equal(page.status, 403)
    assert.match(page.html, new RegExp(`Your role in this project is ${role}`))
    assert.ok(!page.html.includes('Theirs'))
    assert.equal((await eve.post('/account/tokens?project=owner2', { name: 'x', scope: 'read' })).status, 403)
    assert.equal((await eve.post(`/account/tokens/${id}/revoke?project=owner2`)).status, 403)
  }
  assert.deepEqual(
    (await keysOf('owner2')).map(({ name }) => name),
    ['Theirs'],
  )
  await database.run`update members set role = 'admin' where role = 'editor'`
  const page = await eve.get('/account/tokens?project=owner2')
  assert.equal(page.status, 200)
  assert.match(page.html, /<option value="owner2" selected>/)
  assert.equal((await eve.post('/account/tokens?project=owner2', { name: 'By eve', scope: 'read' })).status, 201)
})

test('who is not signed in is asked to, and a form sent then makes nothing', async () => {
  const nobody = newVisitor(app.url)
  const page = await nobody.get('/account/tokens?project=ann')
  assert.deepEqual([page.status, page.location], [303, '/sign-in?next=%2Faccount%2Ftokens%3Fproject%3Dann'])
  const posted = await nobody.post('/account/tokens?project=ann', { name: 'x', scope: 'admin' })
  assert.deepEqual([posted.status, posted.location], [303, '/sign-in?next=%2Faccount'])
  assert.deepEqual(await keysOf('ann'), [])
})
