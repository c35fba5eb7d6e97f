import assert from 'node:assert/strict'
import { test } from 'node:test'
import PostalMime from 'postal-mime'
import { someFrame } from '../../../tests/support/compiled-posts.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { compileParts } from '../../mail/compile/compile-post.ts'

const peer = await startSmtpPeer()
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services

test('what a merge tag says of a person is the same in the preview and in the mail', async () => {
  const { project, list, path } = await newPost(app, {
    subscribers: 3,
    body: {
      subject: 'News for {{ contact.city | default: "everywhere" }}',
      body_html:
        '<p>{{ contact.metadata.plan }} {% if contact.tags contains "vip" %}VIP{% endif %} {{ contact.org | upcase }} {{ contact.name }}</p>',
    },
  })
  await database.run`
    update contacts set city = 'Bern', org = 'Acme', labels = array['vip'], metadata = '{"plan": "gold"}'
    where project_id = ${project.id} and email = 'reader-2@example.org'`
  await project.post(`${path}/send`)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  const { body: subscribers } = await project.get(`/lists/${list.id}/subscribers`)
  assert.equal(subscribers.length, 3)
  for (const { id, email } of subscribers) {
    const { body: preview } = await project.get(`${path}/preview?subscriber_id=${id}`)
    const mail = await PostalMime.parse(peer.messages.find(({ to }) => to.includes(email))?.raw as Buffer)
    assert.equal(mail.subject, preview.subject)
    assert.equal(mail.html?.match(/<p>.*<\/p>/)?.[0], preview.html.match(/<p>.*<\/p>/)?.[0])
  }
  const second = await PostalMime.parse(peer.messages.find(({ to }) => to.includes('reader-2@example.org'))?.raw as Buffer)
  assert.equal(second.subject, 'News for Bern')
  assert.match(second.html ?? '', /<p>gold VIP ACME Reader 2<\/p>/)
  const first = await PostalMime.parse(peer.messages.find(({ to }) => to.includes('reader-1@example.org'))?.raw as Buffer)
  assert.equal(first.subject, 'News for everywhere')
})

const blank = { subject: 'Hi', preview_text: null, html: null, text: 'x', markdown: null }
for (const [post, uses] of [
  [{ html: '<p>{{ contact.city }}</p>' }, true],
  [{ markdown: '{% assign who = contact %}{{ who.city }}' }, true],
  [{ subject: '{{ contact["city"] }}' }, true],
  [{ preview_text: '{{contact.metadata.plan}}', html: '<p>x</p>' }, true],
  [{ text: '{% for tag in contact.tags %}{{ tag }}{% endfor %}' }, true],
  [{ html: '<p>Please contact us, {{ first_name }}</p>' }, false],
  [{ html: '{% raw %}{{ contact.city }}{% endraw %}' }, false],
  [{ text: '{{ contacts }} {{ name }} {{ email }}' }, false],
] as const) {
  test(`${JSON.stringify(post)} ${uses ? 'asks for the contact' : 'does not'}`, () =>
    assert.equal(compileParts({ ...blank, ...post }, someFrame).uses_contact, uses))
}
