import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp, type TestApp } from '../../../tests/support/posthaste.ts'
import { createProject } from '../../../tests/support/project.ts'
import { sendRaw } from '../../../tests/support/raw-http.ts'
import { queuedMail } from '../../../tests/support/subscribers.ts'
import { newVisitor } from '../../../tests/support/visitor.ts'
import { confirmByMail, linkFor, newPerson } from '../../../tests/support/waitlists.ts'
import { scopes } from '../../operations/context.ts'

const app = await startApp()

const stampIn = (page: string) => /name="shown" value="([^"]+)"/.exec(page)?.[1] as string

async function newSite(of: TestApp = app) {
  const project = await of.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.events()
  return { project, list, path: `/s/${list.subdomain}/subscribe` }
}

/** Fills in the form of the home page as a person does, who needs some seconds for it. */
async function fillIn({ list }: { list: { subdomain: string } }, fields: Record<string, string>, of: TestApp = app) {
  const visitor = newVisitor(of.url)
  const { html } = await visitor.get(`/s/${list.subdomain}`)
  const action = /<form method="post" action="([^"]+)"/.exec(html)?.[1] as string
  of.clock.advance(3_000)
  return visitor.post(action, { shown: stampIn(html), ...fields })
}

test('subscribing on the home page: a mail, a button, and the events of each step', async () => {
  const site = await newSite()
  const email = newPerson()
  const asked = await fillIn(site, { email, name: ' Ann\tSmith ' })
  assert.deepEqual([asked.status, /Look into your mailbox/.test(asked.html)], [200, true])
  assert.equal(asked.headers.get('cache-control'), 'no-store')
  assert.deepEqual(await site.project.events(), ['contact.created', 'subscriber.created'])
  const { body: pending } = await site.project.get(`/lists/${site.list.id}/subscribers`)
  assert.deepEqual([pending[0].status, pending[0].source, pending[0].name], ['pending', 'form', 'Ann Smith'])
  assert.match(await confirmByMail(app, email), /You are subscribed[\s\S]*Choose what you get/)
  assert.deepEqual(await site.project.events(), ['contact.updated', 'subscriber.confirmed'], 'their name is theirs now')
})

test('a stranger names nobody: what is typed is kept on that list, and is the name of who confirms and has none', async () => {
  const site = await newSite()
  const { project, list } = site
  const { body: other } = await project.post('/lists', { name: 'Other' })
  const [ann, nameless] = [newPerson('ann'), newPerson('nameless')]
  await project.post(`/lists/${other.id}/subscribers`, { email: ann, name: 'Ann Smith', verified: true })
  await project.post(`/lists/${other.id}/subscribers`, { email: nameless, verified: true })
  await project.events()
  const nameOf = async (email: string) => (await project.get(`/contacts?search=${encodeURIComponent(email)}`)).body[0].name
  const scripted = await fetch(`${app.url}/s/${list.subdomain}/subscribe.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: ann, name: 'Stupid Cow' }),
  })
  assert.equal(scripted.status, 200)
  assert.equal((await fillIn(site, { email: nameless, name: 'No Body' })).status, 200)
  assert.deepEqual(await project.events(), ['subscriber.created', 'subscriber.created'])
  assert.deepEqual([await nameOf(ann), await nameOf(nameless)], ['Ann Smith', null])
  await confirmByMail(app, ann)
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])
  await confirmByMail(app, nameless)
  assert.deepEqual(await project.events(), ['contact.updated', 'subscriber.confirmed'])
  assert.deepEqual([await nameOf(ann), await nameOf(nameless)], ['Ann Smith', 'No Body'])
  // A key of another project is a stranger, too; the list's own may speak for anybody.
  const stranger = await app.newProject()
  const { body: third } = await project.post('/lists', { name: 'Third' })
  await project.events()
  await stranger.post(`/lists/${third.id}/join`, { email: ann, name: 'Stupid Cow' })
  assert.deepEqual([await project.events(), await nameOf(ann)], [['subscriber.created'], 'Ann Smith'])
  const { body: fourth } = await project.post('/lists', { name: 'Fourth' })
  await project.post(`/lists/${fourth.id}/join`, { email: ann, name: 'Ann Jones' })
  assert.equal(await nameOf(ann), 'Ann Jones')
})

test('pages that are kept cannot tell when they were opened: the time is that of their making; the form has a page that is never kept', async () => {
  const site = await newSite()
  const visitor = newVisitor(app.url)
  const home = `/s/${site.list.subdomain}`
  await visitor.get(home)
  app.clock.advance(2_000) // the very first is made once more soon
  const made = await visitor.get(home)
  assert.match(made.headers.get('cache-control') ?? '', /max-age/)
  app.clock.advance(3_000)
  const kept = stampIn((await visitor.get(home)).html)
  assert.equal(kept, stampIn(made.html))
  assert.equal((await visitor.post(site.path, { email: newPerson(), shown: kept, website: 'x' })).status, 200)
  assert.deepEqual(await site.project.events(), [], 'the field that nobody sees traps there as well')
  assert.equal((await visitor.post(site.path, { email: newPerson(), shown: kept })).status, 200)
  assert.deepEqual(await site.project.events(), ['contact.created', 'subscriber.created'])
  for (const path of [site.path, `${home}/join`]) {
    const form = await visitor.get(path)
    assert.equal(form.headers.get('cache-control'), 'no-store')
    assert.equal((await visitor.post(path, { email: newPerson(), shown: stampIn(form.html) })).status, 422)
  }
  assert.deepEqual(await site.project.events(), [])
})

test('the page of its own has the form with a name, keeps what was typed, and leads from a waitlist to its own page', async () => {
  const site = await newSite()
  const { html, status } = await newVisitor(app.url).get(site.path)
  assert.deepEqual([status, /name="name"/.test(html)], [200, true])
  const wrong = await fillIn(site, { email: '"><script>x', name: '<b>Ann' })
  assert.equal(wrong.status, 422)
  assert.match(wrong.html, /value="&quot;&gt;&lt;script&gt;x"[\s\S]*aria-invalid="true"/)
  assert.match(wrong.html, /value="&lt;b&gt;Ann"/)
  assert.match(wrong.html, /role="alert"[^>]*>This is not an e-mail address/)
  const { body: waitlist } = await site.project.post('/lists', { name: 'Launch', type: 'waitlist' })
  assert.equal((await newVisitor(app.url).get(`/s/${waitlist.subdomain}/subscribe`)).location, `/s/${waitlist.subdomain}/join`)
  assert.equal((await newVisitor(app.url).get('/s/nobody-here/subscribe')).status, 404)
  assert.equal((await newVisitor(app.url).post('/s/nobody-here/subscribe')).status, 404)
})

test('the answer says the same of who is on the list, was, is unwanted or new; the mail says what is so', async () => {
  const site = await newSite()
  const people = { pending: newPerson(), active: newPerson(), left: newPerson(), suppressed: newPerson(), fresh: newPerson() }
  const add = (email: string, more = {}) => site.project.post(`/lists/${site.list.id}/subscribers`, { email, ...more })
  await add(people.pending)
  await add(people.active, { verified: true })
  const { body: left } = await add(people.left, { verified: true })
  await site.project.patch(`/lists/${site.list.id}/subscribers/${left.id}`, { status: 'unsubscribed' })
  await site.project.post('/suppressions', { email: people.suppressed })
  await site.project.events()
  const before = (await queuedMail(app, site.project)).length
  const answers = []
  for (const email of Object.values(people)) answers.push(await fillIn(site, { email }))
  for (const { status, html } of answers) assert.deepEqual([status, html], [200, answers.at(-1)?.html])
  assert.deepEqual(await site.project.events(), ['contact.created', 'subscriber.created'])
  const mail = (await queuedMail(app, site.project)).slice(before).map(({ recipient }) => recipient)
  assert.deepEqual(mail, [people.pending, people.active, people.left, people.fresh])
  const preferences = await linkFor(app, people.active, '/preferences/')
  assert.match(await (await fetch(preferences)).text(), /What you get/)
})

test('from the time of an answer nobody learns whether an address is on the list', async () => {
  const site = await newSite()
  const rounds = 15
  const known = Array.from({ length: rounds }, () => newPerson())
  const unwanted = Array.from({ length: rounds }, () => newPerson())
  for (const email of known) await site.project.post(`/lists/${site.list.id}/subscribers`, { email, verified: true })
  for (const email of unwanted) await site.project.post('/suppressions', { email })
  const stamp = stampIn((await newVisitor(app.url).get(site.path)).html)
  app.clock.advance(3_000)
  const timeOf = async (email: string) => {
    const began = performance.now()
    assert.equal((await newVisitor(app.url).post(site.path, { email, shown: stamp })).status, 200)
    return performance.now() - began
  }
  const times: number[][] = [[], [], []]
  for (let round = 0; round < rounds; round++)
    for (const [index, email] of [known[round], unwanted[round], newPerson()].entries()) times[index]?.push(await timeOf(email as string))
  const medians = times.map((all) => all.sort((a, b) => a - b)[Math.floor(rounds / 2)] as number)
  assert.ok(Math.max(...medians) / Math.min(...medians) < 2, medians.join(', '))
})

test('programs subscribe nobody: a hidden field, a form sent at once, one that is old or made up', async () => {
  const site = await newSite()
  const visitor = newVisitor(app.url)
  const email = newPerson()
  assert.match((await fillIn(site, { email, website: 'https://example.com' })).html, /Look into your mailbox/)
  const stamp = stampIn((await visitor.get(site.path)).html)
  const fast = await visitor.post(site.path, { email, shown: stamp })
  assert.deepEqual([fast.status, /press the button once more/.test(fast.html)], [422, true])
  assert.match(fast.html, new RegExp(`value="${email}"`))
  app.clock.advance(25 * 3_600_000)
  for (const shown of [stamp, 'x', '', `${stamp}A`]) assert.equal((await visitor.post(site.path, { email, shown })).status, 422)
  for (const wrong of ['', 'x', 'a@b@c', 'a@b.example\r\nBcc: c@d.example'])
    assert.equal((await fillIn(site, { email: wrong })).status, 422)
  const thrown = await fillIn(site, { email: 'x@sub.mailinator.com' })
  assert.deepEqual([thrown.status, /address that you keep/.test(thrown.html)], [422, true])
  assert.deepEqual(await site.project.events(), [])
  assert.deepEqual(await queuedMail(app, site.project), [])
})

test('a form of another site is refused unless it says that it is embedded; neither sets a cookie', async () => {
  const site = await newSite()
  const elsewhere = { origin: 'https://blog.example', 'sec-fetch-site': 'cross-site' }
  const shown = stampIn((await newVisitor(app.url).get(site.path)).html)
  app.clock.advance(3_000)
  const email = newPerson()
  assert.equal((await newVisitor(app.url).post(site.path, { email, shown }, elsewhere)).status, 403)
  assert.equal((await newVisitor(app.url).post(site.path, { email, shown }, { origin: 'null' })).status, 403)
  assert.deepEqual(await site.project.events(), [])
  const embedded = await newVisitor(app.url).post(site.path, { email, from: 'embed' }, elsewhere)
  assert.deepEqual([embedded.status, /Look into your mailbox/.test(embedded.html)], [200, true])
  assert.deepEqual([embedded.headers.get('set-cookie'), embedded.headers.get('access-control-allow-origin')], [null, null])
  const trapped = await newVisitor(app.url).post(site.path, { email: newPerson(), from: 'embed', website: 'x' }, elsewhere)
  assert.equal(trapped.status, 200)
  assert.deepEqual(await site.project.events(), ['contact.created', 'subscriber.created'])
})

test('whatever else is sent changes nothing: other types, too much, other methods', async () => {
  const site = await newSite()
  const send = (init: RequestInit) => fetch(app.url + site.path, { method: 'POST', headers: { origin: app.url }, ...init })
  const fields = new URLSearchParams({ email: newPerson(), from: 'embed' })
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/xml', 'nonsense'])
    assert.equal((await send({ body: String(fields), headers: { 'content-type': type } })).status, 422, type)
  assert.equal((await send({ body: new URLSearchParams({ email: `${'a'.repeat(20_000)}@example.org`, from: 'embed' }) })).status, 413)
  assert.equal((await send({ body: new URLSearchParams({ email: 'a\0@example.org', from: 'embed' }) })).status, 422)
  for (const method of ['PUT', 'DELETE', 'PATCH']) assert.equal((await fetch(app.url + site.path, { method })).status, 404)
  for (const query of ['?email=a%40example.org&from=embed', '']) await fetch(app.url + site.path + query)
  assert.deepEqual(await site.project.events(), [])
  assert.deepEqual(await queuedMail(app, site.project), [])
})

test('one address gets few mails, however often and however it is written', async () => {
  const site = await newSite()
  for (let round = 0; round < 8; round++) await fillIn(site, { email: round % 2 ? 'Victim@Example.ORG' : 'victim@example.org' })
  assert.equal((await queuedMail(app, site.project)).length, 5)
  await confirmByMail(app, 'victim@example.org')
  for (let round = 0; round < 5; round++) await fillIn(site, { email: 'victim@example.org' })
  assert.equal((await queuedMail(app, site.project)).length, 7)
  assert.equal((await site.project.get(`/lists/${site.list.id}/subscribers`)).body.length, 1)
})

test('so many an hour from one address for each list', async () => {
  const strict = await startApp({ JOINS_PER_HOUR: '2' })
  const [site, other] = [await newSite(strict), await newSite(strict)]
  const from = (ip: string) => ({ 'x-forwarded-for': ip })
  const embed = (of: typeof site, ip: string) => newVisitor(strict.url).post(of.path, { email: newPerson(), from: 'embed' }, from(ip))
  for (let round = 0; round < 2; round++) assert.equal((await embed(site, '192.0.2.1')).status, 200)
  const refused = await embed(site, '192.0.2.1')
  assert.deepEqual([refused.status, refused.headers.get('retry-after'), /try again later/.test(refused.html)], [429, '3600', true])
  assert.equal((await embed(site, '2001:db8::1')).status, 200)
  assert.equal((await embed(other, '192.0.2.1')).status, 200)
  strict.clock.advance(3_601_000)
  assert.equal((await embed(site, '192.0.2.1')).status, 200)
  assert.equal((await site.project.events()).filter((type) => type === 'subscriber.created').length, 4)
})

test('a flood of posts is cut off before it is read', async () => {
  const limited = await startApp({ RATE_LIMIT_PER_MINUTE: '5' })
  const site = await newSite(limited)
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => newVisitor(limited.url).post(site.path, { email: newPerson(), from: 'embed' })),
  )
  assert.ok(answers.filter(({ status }) => status === 429).length >= 20)
  assert.ok((await queuedMail(limited, site.project)).length <= 10)
})

test('on a host of its own the site takes its own forms, and those of no other', async () => {
  const hosted = await startApp({ PUBLIC_URL: 'http://posthaste.example' })
  const url = `http://127.0.0.1:${hosted.config.PORT}`
  const project = await createProject(hosted.services.database, url, scopes)
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.events()
  const host = `${list.subdomain}.posthaste.example`
  const ask = (method: string, path: string, { body = '', origin = `http://${host}` } = {}) =>
    sendRaw(
      url,
      `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nOrigin: ${origin}\r\nAccept: text/html\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  const page = (await ask('GET', '/subscribe')).body
  assert.match(page, /action="\/subscribe"/)
  hosted.clock.advance(3_000)
  const body = String(new URLSearchParams({ email: newPerson(), shown: stampIn(page) }))
  assert.equal((await ask('POST', '/subscribe', { body, origin: 'http://evil.example' })).status, 403)
  assert.equal((await ask('POST', '/subscribe', { body, origin: `http://${host}.evil.example` })).status, 403)
  assert.deepEqual(await project.events(), [])
  assert.match((await ask('POST', '/subscribe', { body })).body, /Look into your mailbox/)
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])
})
