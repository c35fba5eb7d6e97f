import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toNoon } from '../../../tests/support/noon.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost, postData } from '../../../tests/support/posts.ts'
import { newVisitor } from '../../../tests/support/visitor.ts'
import { findSite, type SiteRow } from '../../features/sites/index.ts'

const app = await startApp()
toNoon(app)
const browser = (version = 142) => `Mozilla/5.0 (X11; Linux x86_64; rv:${version}.0) Gecko/20100101 Firefox/${version}.0`

/** A post on its site, the path to like it at, and what presses the button. */
async function newPublished() {
  const made = await newPost(app, { body: { subject: `Hello ${++number}` } })
  const { body: post } = await made.project.post(`${made.path}/publish`)
  await made.project.events()
  const page = `/s/${made.list.subdomain}/p/hello-${number}`
  const like = (headers: Record<string, string> = {}) =>
    newVisitor(app.url).post(`${page}/like`, {}, { 'user-agent': browser(), 'x-forwarded-for': '192.0.2.1', ...headers })
  return { ...made, post, page, like }
}
let number = 0

test('a press counts once a day for each visitor, is told once, and shows on the page', async () => {
  const { project, list, post, page, like } = await newPublished()
  const first = await like()
  assert.deepEqual([first.status, /1 reader likes this post/.test(first.html), first.headers.get('set-cookie')], [200, true, null])
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.liked', data: await postData(project, list, post) }])
  assert.match((await like()).html, /1 reader likes this post/)
  assert.match((await like({ 'x-forwarded-for': '192.0.2.2' })).html, /2 readers like this post/)
  assert.match((await like({ 'user-agent': browser(143) })).html, /3 readers like this post/)
  assert.deepEqual(await project.events(), ['post.liked', 'post.liked'])
  app.clock.advance(24 * 3_600_000)
  assert.match((await like()).html, /4 readers like this post/)
  assert.deepEqual(await project.events(), ['post.liked'])
  const { html } = await newVisitor(app.url).get(page)
  assert.match(html, /action="\/s\/[^"]+\/like"><button class="quiet"><span aria-hidden="true">♥<\/span> I like it <span>4<\/span>/)
})

test('a press shows on a page that was made before it within a minute, and other pages are not made anew for it', async () => {
  const { list, page, like } = await newPublished()
  const look = async (path: string) => (await newVisitor(app.url).get(path)).html
  assert.doesNotMatch(await look(page), /I like it <span>/)
  const { version } = (await findSite(app.services.database, list.subdomain)) as SiteRow
  await like()
  app.clock.advance(61_000)
  assert.match(await look(page), /I like it <span>1<\/span>/)
  assert.equal((await findSite(app.services.database, list.subdomain))?.version, version)
})

test('programs, looks and forms of other sites count for nothing', async () => {
  const { project, page, like } = await newPublished()
  for (const agent of [
    'curl/8.5.0',
    '',
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'python-requests/2.31',
  ])
    assert.equal((await like({ 'user-agent': agent })).status, 200, agent)
  assert.equal((await like({ 'sec-purpose': 'prefetch' })).status, 200)
  assert.equal((await like({ origin: 'https://evil.example' })).status, 403)
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE'])
    assert.equal((await fetch(`${app.url}${page}/like`, { method, headers: { 'user-agent': browser() } })).status, 404, method)
  assert.equal((await fetch(app.url + page, { headers: { 'user-agent': browser() } })).status, 200)
  assert.deepEqual(
    (await project.events()).filter((type) => type !== 'post.viewed'),
    [],
  )
})

test('one place has some readers, not any number of them', async () => {
  const { project, like } = await newPublished()
  for (let version = 100; version < 123; version++) assert.equal((await like({ 'user-agent': browser(version) })).status, 200)
  assert.equal((await project.events()).length, 20)
  assert.match((await like({ 'x-forwarded-for': '2001:db8:1:2:3::4' })).html, /21 readers/)
  assert.match((await like({ 'x-forwarded-for': '2001:db8:1:2:5::6' })).html, /21 readers/, 'one line is one place')
})

test('a draft, a post of a list that shows none, and one that is not there cannot be liked', async () => {
  const draft = await newPost(app, { body: { subject: 'Not yet' } })
  const { project, list, page, like } = await newPublished()
  const press = (path: string) => newVisitor(app.url).post(path, {}, { 'user-agent': browser() })
  assert.equal((await press(`/s/${draft.list.subdomain}/p/${draft.post.id}/like`)).status, 404)
  assert.equal((await press(`/s/${list.subdomain}/p/nothing/like`)).status, 404)
  assert.equal((await press('/s/nobody-here/p/nothing/like')).status, 404)
  assert.equal((await press(page.replace(list.subdomain, draft.list.subdomain).concat('/like'))).status, 404, 'another list’s post')
  await project.patch(`/lists/${list.id}`, { show_posts: false })
  await project.events()
  assert.equal((await like()).status, 404)
  assert.deepEqual([await project.events(), await draft.project.events()], [[], []])
})

test('ten presses at once are one', async () => {
  const { project, like } = await newPublished()
  await Promise.all(Array.from({ length: 10 }, () => like()))
  assert.deepEqual(await project.events(), ['post.liked'])
})
