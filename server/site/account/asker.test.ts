import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { signIn } from '../../../tests/support/visitor.ts'

const app = await startApp()

test('a page is about the project that it is asked about, or about none', async () => {
  const ann = await signIn(app, 'ann@example.org')
  await signIn(app, 'bob@example.org')
  for (const page of ['/account/tokens', '/account/team']) {
    assert.equal((await ann.get(page)).status, 200)
    assert.equal((await ann.get(`${page}?project=ann`)).status, 200)
    const strange = ['bob', '', 'ann&project=ann', 'ann&project=bob', '%00ann', 'ann%00', 'x'.repeat(101), 'nobody', 'ANN', 'ann%20']
    for (const slug of strange) {
      const { status, html } = await ann.get(`${page}?project=${slug}`)
      assert.equal(status, 404, `${page} ${slug}`)
      assert.match(html, /You are in no such project/)
    }
  }
  const made = await ann.post('/account/tokens?project=bob&project=ann', { name: 'No', scope: 'read' })
  assert.equal(made.status, 404)
  assert.deepEqual(await app.services.database.many`select 1 from api_keys where name = 'No'`, [])
})
