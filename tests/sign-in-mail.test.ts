import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from './support/posthaste.ts'
import { mailTo } from './support/received-mail.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'
import { newVisitor } from './support/visitor.ts'

test('the code comes by real mail, and is not kept once it has left', async (t) => {
  const peer = await startSmtpPeer()
  t.after(() => peer.close())
  const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
  t.after(() => app.stop())
  const visitor = newVisitor(app.url)
  const asked = await visitor.post('/sign-in', { email: 'ann@example.org' })
  assert.equal(asked.status, 303)
  const mail = await mailTo(peer, 'ann@example.org')
  assert.deepEqual([mail.from?.address, mail.subject], ['posthaste@posthaste.test', 'Your code to sign in'])
  assert.equal(mail.headers.find(({ key }) => key === 'auto-submitted')?.value, 'auto-generated')
  const code = /^(\d{6})$/m.exec(mail.text ?? '')?.[1] ?? assert.fail(mail.text)
  assert.ok(mail.html?.includes(code))

  const { database } = app.services
  const row = await until(
    'it counts as sent',
    () =>
      database.first<{ status: string; text: string }>`
      select status, m::text as text from messages m where kind = 'sign_in_code' and status = 'delivered'`,
  )
  assert.ok(!row.text.includes(code), row.text)
  const done = await visitor.post(asked.location as string, { code })
  assert.equal(done.status, 303)
  assert.equal((await visitor.get('/account')).status, 200)
})
