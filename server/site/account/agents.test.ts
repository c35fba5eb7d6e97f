import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, claimAs, newAddress, registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor, newVisitor, signIn, type Visitor } from '../../../tests/support/visitor.ts'

const app = await startApp()
const page = '/account/agents'

/** A human who is signed in, with an agent that was linked to them. */
async function linked() {
  const agent = await registerAnonymous(app)
  const email = newAddress()
  const data = await claimAs(app, agent.claim_token, email, true)
  await until('the notice', async () => (await capturedFor(app, email)).length === 2)
  await app.services.database.run`update email_codes set created_at = created_at - interval '2 minutes' where email_key = ${email}`
  return { agent, key: speaking(app.url, data.credential), name: agent.mailbox.address.split('@')[0], visitor: await signIn(app, email) }
}

/** Presses the button with these words, as far as the page has it. */
async function press(visitor: Visitor, words: string, more: Record<string, string> = {}): Promise<void> {
  const { html } = await visitor.get(page)
  const form = [...html.matchAll(/<form method="post" action="([^"]+)">([\s\S]*?)<\/form>/g)].find(([, , inner]) =>
    inner?.includes(`>${words}</button>`),
  )
  const formaction = new RegExp(`formaction="([^"]+)">${words}</button>`).exec(form?.[2] ?? '')?.[1]
  const id = /name="id" value="([^"]+)"/.exec(form?.[2] ?? assert.fail(`no button ${words}: ${html}`))?.[1] as string
  const done = await visitor.post(formaction ?? (form?.[1] as string), { id, ...more })
  assert.deepEqual([done.status, done.location], [303, page], done.html)
}

test('a person switches an agent off and on, and lets it send, with plain forms', async () => {
  const { agent, key, name, visitor } = await linked()
  const before = await visitor.get(page)
  assert.equal(before.status, 200)
  for (const words of [name, agent.mailbox.address, 'read, write', 'Switch off', 'Allow sending'])
    assert.ok(before.html.includes(words), words)
  assert.ok(!before.html.includes('<script'))

  await press(visitor, 'Switch off')
  await until('the key is refused', async () => (await key.get('/lists')).status === 401, { withinMs: 1_000 })
  assert.match((await visitor.get(page)).html, /switched off/)
  await press(visitor, 'Switch on')
  await until('the key works', async () => (await key.get('/lists')).status === 200, { withinMs: 1_000 })
  await press(visitor, 'Allow sending')
  await until('it may send', async () => (await key.get('/api/me')).body.scopes.includes('send'), { withinMs: 1_000 })
  await press(visitor, 'Stop sending')
  await until('it may not', async () => !(await key.get('/api/me')).body.scopes.includes('send'), { withinMs: 1_000 })
})

test('a request waits for an answer: approved, with or without the right to send, or rejected', async () => {
  for (const [button, more, scopes, role] of [
    ['Approve', { send: 'yes' }, ['read', 'write', 'send'], 'admin'],
    ['Approve', {}, ['read', 'write'], 'admin'],
    ['Reject', {}, ['read', 'write'], undefined],
  ] as const) {
    const { agent, key, name, visitor } = await linked()
    assert.match((await visitor.get(page)).html, new RegExp(`${name}</strong> asks you to join`))
    await press(visitor, button, more)
    assert.doesNotMatch((await visitor.get(page)).html, /asks you to join/)
    await until('the scopes', async () => (await key.get('/api/me')).body.scopes.join() === scopes.join(), { withinMs: 1_000 })
    const member = await app.services.database.first<{ role: string }>`
      select m.role from members m join users u on u.id = m.user_id where m.project_id = ${asProject(agent.project_id)} and u.kind = 'human'`
    assert.equal(member?.role, role)
  }
})

test('who is not signed in is sent to do so, and other people’s agents are out of reach', async () => {
  const stranger = newVisitor(app.url)
  assert.deepEqual(
    [(await stranger.get(page)).status, (await stranger.get(page)).location],
    [303, `/sign-in?next=${encodeURIComponent(page)}`],
  )
  assert.match((await stranger.post(`${page}/switch-off`, { id: 'x' })).location ?? '', /^\/sign-in/)

  const { agent, key } = await linked()
  const other = await signIn(app, newAddress('other'))
  assert.match((await other.get(page)).html, /No agent is linked to you/)
  for (const [action, id] of [
    ['switch-off', agent.user_id],
    ['switch-off', 'nonsense'],
    ['approve', 'nonsense'],
    ['nothing', agent.user_id],
  ] as const) {
    const { status, html } = await other.post(`${page}/${action}`, { id })
    assert.equal(status, 404, action)
    assert.match(html, /Nothing was changed/)
  }
  assert.equal((await key.get('/lists')).status, 200)
})

test('a form from another site is refused', async () => {
  const { agent, key, visitor } = await linked()
  const { status } = await visitor.post(`${page}/switch-off`, { id: agent.user_id }, { origin: 'https://evil.example' })
  assert.equal(status, 403)
  assert.equal((await key.get('/lists')).status, 200)
})
