import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { queuedMail } from '../../tests/support/subscribers.ts'
import { newVisitor } from '../../tests/support/visitor.ts'
import { codeOf, confirmByMail, linkFor, newPerson, newWaitlist, type TestWaitlist } from '../../tests/support/waitlists.ts'

const app = await startApp({ JOINS_PER_HOUR: '4' })

const stampIn = (page: string) => /name="shown" value="([^"]+)"/.exec(page)?.[1] as string

/** Fills in the form as a person does, who needs some seconds for it. */
async function fillIn(list: Pick<TestWaitlist, 'subdomain'>, fields: Record<string, string>, query = '') {
  const path = `/s/${list.subdomain}/join`
  const visitor = newVisitor(app.url)
  const shown = stampIn((await visitor.get(path + query)).html)
  app.clock.advance(3_000)
  return visitor.post(path, { shown, ...fields })
}

test('joining through the page, confirming, seeing where one stands, and leaving', async () => {
  const list = await newWaitlist(app)
  const { referral_url } = await list.join(newPerson())
  const ref = codeOf(referral_url)
  const { html: form, headers } = await newVisitor(app.url).get(new URL(referral_url).pathname + new URL(referral_url).search)
  assert.ok(form.includes(`name="ref" value="${ref}"`))
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
  await list.project.events()
  const ann = newPerson()
  const joined = await fillIn(list, { email: ann, name: ' Ann\tSmith ', ref })
  assert.deepEqual([joined.status, /Look into your mailbox/.test(joined.html)], [200, true])
  assert.deepEqual(await list.project.events(), ['contact.created', 'subscriber.created'])
  assert.deepEqual((await list.standings())[ann], ['waiting', 2])
  const page = await confirmByMail(app, ann)
  const status = /href="([^"]+\/w\/[^"]+)"/.exec(page)?.[1] as string
  assert.deepEqual(await list.project.events(), ['contact.updated', 'subscriber.confirmed'])

  const look = async (method = 'GET') => {
    const response = await fetch(status, { method })
    return { status: response.status, page: await response.text() }
  }
  const { page: seen } = await look()
  assert.match(seen, /number <strong>2<\/strong> of 2[\s\S]*1 person is before you/)
  assert.match(seen, new RegExp(`readonly value="${app.url}/s/${list.subdomain}/join\\?ref=\\w{11}"`))
  for (const method of ['HEAD', 'GET']) assert.equal((await look(method)).status, 200)
  assert.deepEqual(await list.project.events(), [])
  for (const method of ['POST', 'POST', 'GET']) assert.match((await look(method)).page, /You have left/)
  assert.deepEqual(await list.project.events(), ['subscriber.unsubscribed'])
  assert.deepEqual((await list.standings())[ann], [null, null])
})

test('the page says the same of who is on the list already; the mail says what is so', async () => {
  const list = await newWaitlist(app)
  const [pending, active, suppressed] = [newPerson(), newPerson(), newPerson()]
  await list.join(pending)
  await list.join(active)
  await confirmByMail(app, active)
  await list.project.post('/suppressions', { email: suppressed })
  await list.project.events()
  const answers = []
  for (const email of [pending, active, suppressed]) answers.push(await fillIn(list, { email }))
  const fresh = await fillIn(list, { email: newPerson() })
  for (const answer of answers) assert.deepEqual([answer.status, answer.html], [fresh.status, fresh.html])
  assert.deepEqual(await list.project.events(), ['contact.created', 'subscriber.created'])
  const status = await linkFor(app, active, '/w/')
  assert.match(await (await fetch(status)).text(), /number <strong>2<\/strong>/)
  const sent = (await queuedMail(app, list.project)).map(({ recipient }) => recipient)
  assert.deepEqual(
    [pending, active, suppressed].map((email) => sent.filter((one) => one === email).length),
    [2, 2, 0],
  )
})

test('the answer takes its time, whoever it is about: nobody learns by it who is on the list', async () => {
  const list = await newWaitlist(app)
  const [known, suppressed] = [newPerson(), newPerson()]
  await list.join(known)
  await list.project.post('/suppressions', { email: suppressed })
  const path = `/s/${list.subdomain}/join`
  const shown = stampIn((await newVisitor(app.url).get(path)).html)
  app.clock.advance(3_000)
  for (const email of [known, suppressed, newPerson()]) {
    const began = performance.now()
    assert.match((await newVisitor(app.url).post(path, { email, shown })).html, /Look into your mailbox/)
    assert.ok(performance.now() - began >= 145, 'it is answered at once')
  }
})

test('the page says of how many have confirmed: an address that somebody types in changes nothing there', async () => {
  const list = await newWaitlist(app)
  const [known, me, other] = [newPerson(), newPerson(), newPerson()]
  await list.join(me)
  await list.join(known)
  const page = await confirmByMail(app, me)
  const status = /href="([^"]+\/w\/[^"]+)"/.exec(page)?.[1] as string
  const ofHowMany = async () => /number <strong>1<\/strong> of (\d+)/.exec(await (await fetch(status)).text())?.[1]
  for (const email of [known, other]) {
    assert.match((await fillIn(list, { email })).html, /Look into your mailbox/)
    assert.equal(await ofHowMany(), '1')
  }
  await confirmByMail(app, other)
  assert.equal(await ofHowMany(), '2')
})

test('programs put nobody on a list: a hidden field, a form sent at once, one that is old or made up', async () => {
  const list = await newWaitlist(app)
  const visitor = newVisitor(app.url)
  const path = `/s/${list.subdomain}/join`
  const email = newPerson()
  const trapped = await fillIn(list, { email, website: 'https://example.com' })
  assert.match(trapped.html, /Look into your mailbox/)
  const stamp = stampIn((await visitor.get(path)).html)
  const fast = await visitor.post(path, { email, shown: stamp })
  assert.deepEqual([fast.status, /press the button once more/.test(fast.html)], [422, true])
  app.clock.advance(25 * 3_600_000)
  for (const shown of [stamp, 'x', '', `${stamp}A`]) assert.equal((await visitor.post(path, { email, shown })).status, 422)
  assert.equal((await visitor.post(path, { email, shown: stamp }, { origin: 'https://evil.example' })).status, 403)
  for (const wrong of ['', 'x', 'a@b@c']) assert.equal((await fillIn(list, { email: wrong })).status, 422)
  assert.match((await fillIn(list, { email: 'x@mailinator.com' })).html, /address that you keep/)
  assert.deepEqual(await list.project.events(), [])
  assert.deepEqual(await list.standings(), {})
  assert.deepEqual(await queuedMail(app, list.project), [])
})

test('from one address so many an hour; closed and full are said', async () => {
  const list = await newWaitlist(app)
  const known = newPerson()
  await list.join(known)
  for (const email of [newPerson(), newPerson(), known, known]) assert.equal((await fillIn(list, { email })).status, 200)
  const refused = await fillIn(list, { email: newPerson() })
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '3600'])
  assert.equal(Object.keys(await list.standings()).length, 3)

  const small = await newWaitlist(app, { waitlist_capacity: 1 })
  const taken = newPerson()
  await small.join(taken)
  const path = `/s/${small.subdomain}/join`
  assert.match((await newVisitor(app.url).get(path)).html, /This waitlist is full/)
  const shown = stampIn((await newVisitor(app.url).get(`/s/${list.subdomain}/join`)).html)
  app.clock.advance(3_000)
  for (const email of [newPerson(), taken])
    assert.match((await newVisitor(app.url).post(path, { email, shown })).html, /This waitlist is full/)
  assert.equal(Object.keys(await small.standings()).length, 1)
  await small.project.patch(small.path, { waitlist_closed: true })
  assert.match((await newVisitor(app.url).get(`/s/${small.subdomain}/join`)).html, /This waitlist is closed/)
  assert.equal((await newVisitor(app.url).get('/s/no-such-list/join')).status, 404)
})

test('what others typed is text on the page, never HTML', async () => {
  const project = await app.newProject()
  const name = `<img src=x onerror=alert(1)> "q"`
  const { body: list } = await project.post('/lists', { name, type: 'waitlist', description: '<b>bold</b>' })
  const { html } = await newVisitor(app.url).get(`/s/${list.subdomain}/join?ref=%22%3E%3Cscript%3E`)
  assert.ok(!/<img|<b>|<script/.test(html))
  const answer = await fillIn(list, { email: '"><script>' })
  assert.ok(!answer.html.includes('<script'))
})

test('another list has a form to subscribe', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  const email = newPerson()
  assert.match((await fillIn(list, { email })).html, /Look into your mailbox/)
  assert.match(await confirmByMail(app, email), /You are subscribed/)
  const { body } = await project.get(`/lists/${list.id}/subscribers`)
  assert.deepEqual([body[0].status, body[0].source], ['active', 'form'])
})
