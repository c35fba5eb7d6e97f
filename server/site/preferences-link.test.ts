import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newPost } from '../../tests/support/posts.ts'
import { newSentPost } from '../../tests/support/recipients.ts'
import { until } from '../../tests/support/until.ts'
import { capturedFor, newVisitor } from '../../tests/support/visitor.ts'

/** The link beside "Unsubscribe" in every newsletter: it has the same token, and leads to the page that belongs to the person. */
const app = await startApp()

async function lastMail(email: string) {
  const mail = (await capturedFor(app, email)).at(-1)
  return { mail, header: (name: string) => mail?.headers.find(({ key }) => key === name)?.value }
}

test('a newsletter leads to the preferences of whom it is for, and looking changes nothing', async () => {
  const { project, list, recipients } = await newSentPost(app, { subscribers: 2, tracked: true })
  const { mail } = await lastMail('reader-2@example.org')
  const link = `${app.url}/preferences/${recipients[1]?.tokens.unsubscribe}`
  assert.ok(mail?.html?.includes(`href="${link}"`), mail?.html)
  assert.ok(mail?.text?.includes(`\nPreferences: ${link}\n`), mail?.text)

  const visitor = newVisitor(app.url)
  for (let look = 0; look < 2; look++) {
    const { status, location } = await visitor.get(link)
    assert.deepEqual([status, location?.startsWith('/preferences/')], [303, true])
    assert.match((await visitor.get(location as string)).html, /For <strong>reader-2@example\.org<\/strong>/)
  }
  assert.deepEqual(await project.events(), [])

  const { location } = await visitor.get(link)
  assert.match((await visitor.post(`${location}/lists`, { shown: list.id })).html, /Saved/)
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'])
})

test('tokens of other links, made-up ones and those of who was removed open nothing', async () => {
  const { project, list, first } = await newSentPost(app, { subscribers: 1 })
  const { unsubscribe, click, open, return_path } = first.tokens
  const changed = `${unsubscribe.slice(0, -1)}${unsubscribe.endsWith('0') ? '1' : '0'}`
  for (const token of [click, open, return_path, changed, unsubscribe.slice(1)]) {
    const { status, html } = await newVisitor(app.url).get(`/preferences/${token}`)
    assert.deepEqual([status, /This link is not valid/.test(html)], [404, true], token)
  }
  // It opens the page, and is not the page's own: nothing is changed with it.
  assert.equal((await newVisitor(app.url).post(`/preferences/${unsubscribe}/lists`, { shown: list.id })).status, 404)
  await app.services.database.run`
    update subscribers set email = 'moved@example.org', email_key = 'moved@example.org' where project_id = ${project.id}`
  const moved = await newVisitor(app.url).get(`/preferences/${unsubscribe}`)
  assert.deepEqual([moved.status, moved.html.includes('moved@')], [404, false], 'the old mailbox learns nothing of the new one')
  const { body: people } = await project.get(`/lists/${list.id}/subscribers`)
  await project.delete(`/lists/${list.id}/subscribers/${people[0].id}`)
  await project.events()
  assert.equal((await newVisitor(app.url).get(`/preferences/${unsubscribe}`)).status, 404)
  assert.deepEqual(await project.events(), [])
})

test('List-Archive names the archive of a list that shows its posts, and of no other (RFC 2369)', async () => {
  const shown = await newSentPost(app, { subscribers: 1 })
  assert.equal((await lastMail('reader-1@example.org')).header('list-archive'), `<${app.url}/s/${shown.list.subdomain}/archive>`)
  const answer = await fetch(`${app.url}/s/${shown.list.subdomain}/archive`)
  assert.deepEqual([answer.status, (await answer.text()).includes('Hello')], [200, true])

  const silent = await newPost(app)
  await silent.project.patch(`/lists/${silent.list.id}`, { show_posts: false })
  await silent.project.post(`${silent.path}/test`, { to: ['somebody@example.org'] })
  const copy = await until('the copy', async () => (await capturedFor(app, 'somebody@example.org'))[0])
  const fields = copy.headers.map(({ key }) => key)
  assert.deepEqual([fields.includes('list-unsubscribe'), fields.includes('list-archive')], [true, false])
})
