import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { newVisitor, signIn, type Visitor } from '../../../tests/support/visitor.ts'

const app = await startApp()
const { database } = app.services
const page = '/account/mailboxes'

interface Row {
  address: string
  status: string
  type: string
}
const mailboxesOf = (slug: string) => database.many<Row>`
  select m.address, m.status, m.type from mailboxes m join projects p on p.id = m.project_id
  where p.slug = ${slug} and m.deleted_at is null order by m.id`

/** Sends the form of this action that stands in the row of the mailbox, as the page has it. */
async function press(visitor: Visitor, address: string, action: string, slug: string) {
  const { html } = await visitor.get(`${page}?project=${slug}`)
  const row = html.split('<tr>').find((one) => one.includes(address)) ?? assert.fail(html)
  const [, target, id] =
    new RegExp(`action="([^"]+/${action}[^"]*)"><input type="hidden" name="id" value="([^"]+)"`).exec(row) ?? assert.fail(row)
  return visitor.post((target as string).replaceAll('&amp;', '&'), { id: id as string })
}

test('mailboxes are made, seen with what is in them, paused, resumed and deleted without any script', async () => {
  const ann = await signIn(app, 'ann@example.org')
  const empty = await ann.get(page)
  assert.equal(empty.status, 200)
  assert.match(empty.html, /There are no mailboxes yet/)
  assert.ok(!empty.html.includes('<script'))

  const made = await ann.post(`${page}/create?project=ann`, { name: 'Desk', type: 'persistent' })
  assert.deepEqual([made.status, made.location], [303, `${page}?project=ann`])
  await ann.post(`${page}/create?project=ann`, { name: '', type: 'disposable' })
  const [desk, brief] = await mailboxesOf('ann')
  assert.deepEqual([desk?.address, brief?.type], ['desk@posthaste.test', 'disposable'])
  await database.run`update mailboxes set email_count = 42, name = 'A <b>' where address = 'desk@posthaste.test'`
  const { html } = await ann.get(page)
  for (const words of ['desk@posthaste.test', 'A &lt;b&gt;', '42', 'takes mail', brief?.address as string, 'for a while', 'until 20'])
    assert.ok(html.includes(words), words)

  assert.equal((await press(ann, 'desk@', 'pause', 'ann')).status, 303)
  assert.match((await ann.get(page)).html, /paused: senders try again later/)
  assert.equal((await press(ann, 'desk@', 'resume', 'ann')).status, 303)
  assert.equal((await mailboxesOf('ann'))[0]?.status, 'active')
  const gone = await press(ann, brief?.address as string, 'delete', 'ann')
  assert.deepEqual([gone.status, gone.location], [303, `${page}?project=ann`])
  assert.deepEqual(
    (await mailboxesOf('ann')).map(({ address }) => address),
    ['desk@posthaste.test'],
  )
  const audit = await database.many<{ operation: string; key_id: string | null }>`
    select operation, key_id from audit_log where operation like 'mailboxes.%' order by at, id`
  assert.deepEqual(
    audit.map(({ operation, key_id }) => [operation, key_id]),
    ['create', 'create', 'update', 'update', 'delete'].map((word) => [`mailboxes.${word}`, null]),
  )
})

test('what is wrong is said on the page in words, and nothing is made', async () => {
  const bob = await signIn(app, 'bob@example.org')
  const cases: [Record<string, string>, RegExp][] = [
    [
      { name: 'postmaster', type: 'persistent' },
      /Nothing was changed\. The address is kept for this installation itself; choose another\./,
    ],
    [{ name: 'a b', type: 'persistent' }, /The address has a space in it\./],
    [{ name: 'bob', type: 'x' }, /must be one of/],
  ]
  for (const [fields, message] of cases) {
    const answer = await bob.post(`${page}/create`, fields)
    assert.equal(answer.status, 422)
    assert.match(answer.html, message)
  }
  assert.deepEqual(await mailboxesOf('bob'), [])
  assert.equal((await bob.post(`${page}/constructor`)).status, 404)
  assert.equal((await bob.post(`${page}/delete`, { id: 'mbx_1' })).status, 404)
  assert.equal((await bob.get(`${page}?cursor=x`)).status, 422)
})

test('one that has ended says so, and a list’s address has no button that deletes it', async () => {
  const eve = await signIn(app, 'eve@example.org')
  await eve.post(`${page}/create`, { name: 'old', type: 'disposable' })
  await database.run`update mailboxes set expires_at = now() - interval '1 hour' where address = 'old@posthaste.test'`
  const key = await eve.post('/account/tokens', { name: 'x', scope: 'write' })
  const api = speaking(app.url, /<pre>(sk_\w+)<\/pre>/.exec(key.html)?.[1] ?? assert.fail(key.html))
  assert.equal((await api.post('/lists', { name: 'Evening' })).status, 201)
  const { html } = await eve.get(page)
  const rows = html.split('<tr>')
  assert.match(rows.find((row) => row.includes('old@')) ?? '', /ended: mail is refused/)
  const list = rows.find((row) => row.includes('evening@')) ?? ''
  assert.match(list, /the address of a list/)
  assert.ok(!list.includes('/delete'))
})

test('another’s project is not found, a viewer sees and changes nothing, and a stranger is asked to sign in', async () => {
  const [max, owner] = [await signIn(app, 'max@example.org'), await signIn(app, 'holder@example.org')]
  await owner.post(`${page}/create`, { name: 'theirs', type: 'persistent' })
  assert.equal((await max.get(`${page}?project=holder`)).status, 404)
  const id = /value="(mbx_\w+)"/.exec((await owner.get(page)).html)?.[1] as string
  assert.equal((await max.post(`${page}/delete`, { id })).status, 404)
  assert.equal((await max.post(`${page}/delete?project=holder`, { id })).status, 404)
  await database.run`
    insert into members (project_id, user_id, role) select p.id, u.id, 'viewer' from projects p, users u where p.slug = 'holder' and u.slug = 'max'`
  const seen = await max.get(`${page}?project=holder`)
  assert.match(seen.html, /theirs@posthaste\.test/)
  assert.ok(!seen.html.includes('Make a new mailbox') && !seen.html.includes(id))
  assert.equal((await max.post(`${page}/delete?project=holder`, { id })).status, 403)
  assert.equal((await max.post(`${page}/create?project=holder`, { name: 'x', type: 'persistent' })).status, 403)
  const nobody = newVisitor(app.url)
  assert.deepEqual([(await nobody.get(page)).status, (await nobody.get(page)).location], [303, `/sign-in?next=${encodeURIComponent(page)}`])
  assert.equal((await owner.post(`${page}/delete`, { id }, { origin: 'https://evil.example' })).status, 403)
  assert.equal((await mailboxesOf('holder')).length, 1)
})
