import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { assertCounts, queuedMail } from '../../../tests/support/subscribers.ts'
import { codeOf, confirmByMail, newPerson, newWaitlist } from '../../../tests/support/waitlists.ts'

const app = await startApp({ DISPOSABLE_DOMAINS: 'throw.example', JOINS_PER_HOUR: '4' })
const nothing = { subscriber_id: null, position: null, referral_url: null }

test('joining by mail holds a place at once, and asks for a confirmation', async () => {
  const list = await newWaitlist(app)
  const [ann, ben] = [newPerson(), newPerson()]
  const { status, body } = await list.project.post(`${list.path}/join`, { email: ann, name: 'Ann' })
  assert.equal(status, 200)
  assert.deepEqual([body.status, body.position], ['created', 1])
  assert.match(body.subscriber_id, /^sub_/)
  assert.match(body.referral_url, new RegExp(`^${app.url}/s/${list.subdomain}/join\\?ref=[A-Za-z0-9]{11}$`))
  assert.deepEqual(await list.project.events(), ['contact.created', 'subscriber.created'])
  assert.equal((await list.join(ben)).position, 2)
  const { body: subscriber } = await list.project.get(`${list.path}/subscribers/${body.subscriber_id}`)
  assert.deepEqual(
    [subscriber.email, subscriber.name, subscriber.status, subscriber.source, subscriber.waitlist_status, subscriber.position],
    [ann, 'Ann', 'pending', 'join', 'waiting', 1],
  )
  assert.deepEqual(
    (await queuedMail(app, list.project)).map(({ recipient }) => recipient),
    [ann, ben],
  )
  assert.match(await confirmByMail(app, ann), /You are on the waitlist[\s\S]*number <strong>1<\/strong> of 1/)
  await assertCounts(app, list.project, list.id, { active: 1, pending: 1 })
})

test('joining again is answered with the same place, and sends nothing', async () => {
  const list = await newWaitlist(app)
  const ann = newPerson()
  const first = await list.join(ann)
  await list.join(newPerson())
  await list.project.events()
  for (const email of [ann, ann.toUpperCase()]) assert.deepEqual(await list.join(email), { ...first, status: 'exists' })
  assert.deepEqual(await list.project.events(), [])
  assert.equal((await queuedMail(app, list.project)).length, 2)
  const answers = await Promise.all(Array.from({ length: 8 }, () => list.join('same@example.org')))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['created', ...Array(7).fill('exists')])
  assert.deepEqual(new Set(answers.map(({ position }) => position)), new Set([3]))
})

test('a suppressed or throw-away address, and a closed list, are invalid and change nothing', async () => {
  const list = await newWaitlist(app)
  const [suppressed, known] = [newPerson(), newPerson()]
  await list.project.post('/suppressions', { email: suppressed })
  const { referral_url } = await list.join(known)
  await list.project.events()
  for (const email of [suppressed, 'x@mailinator.com', 'x@deep.yopmail.com', 'x@throw.example'])
    assert.deepEqual(await list.join(email), { ...nothing, status: 'invalid' }, email)
  await list.project.patch(list.path, { waitlist_closed: true })
  assert.deepEqual(await list.project.events(), ['list.updated'])
  assert.deepEqual(await list.join(newPerson()), { ...nothing, status: 'invalid' })
  assert.deepEqual([(await list.join(known)).status, (await list.join(known)).referral_url], ['exists', referral_url])
  assert.deepEqual(await list.project.events(), [])
  assert.equal(Object.keys(await list.standings()).length, 1)
})

test('a full list takes nobody, not even of many at once; who never confirms gives the room free after a day', async () => {
  const list = await newWaitlist(app, { waitlist_capacity: 2 })
  const answers = await Promise.all(Array.from({ length: 6 }, () => list.join(newPerson())))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['created', 'created', 'full', 'full', 'full', 'full'])
  assert.deepEqual(await list.join(newPerson()), { ...nothing, status: 'full' })
  await assertCounts(app, list.project, list.id, { pending: 2 })
  assert.equal((await queuedMail(app, list.project)).length, 2)
  app.clock.advance(25 * 3_600_000)
  assert.deepEqual((await list.join(newPerson())).position, 3)
  await list.project.patch(list.path, { waitlist_capacity: null })
  assert.deepEqual((await list.join(newPerson())).status, 'created')
})

test('a caller of another project is told the same whoever is on the list', async () => {
  const list = await newWaitlist(app)
  const [known, suppressed, fresh] = [newPerson(), newPerson(), newPerson()]
  await list.join(known)
  await list.project.post('/suppressions', { email: suppressed })
  const stranger = await app.newProject([])
  for (const email of [known, suppressed, fresh, fresh]) {
    const { status, body } = await stranger.post(`${list.path}/join`, { email })
    assert.deepEqual([status, body], [200, { ...nothing, status: 'created' }], email)
  }
  assert.deepEqual((await list.standings())[fresh], ['waiting', 2])
  assert.deepEqual(await stranger.events(), [])
  // Every attempt counts: by none can anybody tell whether the ones before were on the list.
  for (const email of [newPerson(), known, suppressed]) {
    const refused = await stranger.post(`${list.path}/join`, { email })
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
  }
  const other = await app.newProject([])
  for (const [settings, status] of [
    [{ waitlist_capacity: 1 }, 'full'],
    [{ waitlist_closed: true }, 'invalid'],
  ] as const) {
    await list.project.patch(list.path, settings)
    for (const email of [known, suppressed, newPerson()])
      assert.deepEqual((await other.post(`${list.path}/join`, { email })).body, { ...nothing, status })
  }
  assert.equal((await stranger.post('/lists/lst_01h455vb4pex5vsknk084sn02q/join', { email: fresh })).status, 404)
})

test('an agent joins as itself, once; a person needs an address', async () => {
  const list = await newWaitlist(app)
  const agent = speaking(app.url, (await registerAnonymous(app)).credential)
  const first = await agent.post(`${list.path}/join`, { name: 'Swift Otter' })
  assert.deepEqual([first.status, first.body.status, first.body.position], [200, 'created', 1], JSON.stringify(first.body))
  assert.deepEqual(await list.project.events(), ['contact.created', 'subscriber.created'])
  const again = await agent.post(`${list.path}/join`, {})
  assert.deepEqual(again.body, { ...first.body, status: 'exists' })
  const { body: subscriber } = await list.project.get(`${list.path}/subscribers/${first.body.subscriber_id}`)
  assert.deepEqual([subscriber.email, subscriber.status, subscriber.source, subscriber.position], [null, 'active', 'agent', 1])
  await list.project.post(`${list.path}/invite`, { all: true })
  assert.deepEqual((await agent.post(`${list.path}/join`)).body.position, null)
  assert.deepEqual((await list.project.get(`${list.path}/stats`)).body.accepted, 1)
  await list.project.events()

  const refused = await list.project.post(`${list.path}/join`, {})
  assert.deepEqual([refused.status, refused.body.error.message.slice(0, 6)], [422, 'email:'])
  assert.deepEqual(await list.project.events(), [])
})

test('agents that nobody has claimed fill no list, and come from one place only so many an hour', async () => {
  const list = await newWaitlist(app, { waitlist_capacity: 1 })
  const joinAnew = async () => {
    const agent = speaking(app.url, (await registerAnonymous(app)).credential)
    return { agent, ...(await agent.post(`${list.path}/join`, {})) }
  }
  const [first] = await Promise.all([joinAnew(), joinAnew(), joinAnew()])
  assert.equal(first.body.status, 'created')
  assert.equal((await list.join(newPerson())).status, 'created')
  assert.equal((await joinAnew()).body.status, 'full')
  await list.project.patch(list.path, { waitlist_capacity: 2 })
  assert.equal((await joinAnew()).body.status, 'created')
  await list.project.events()
  const refused = await joinAnew()
  assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
  assert.deepEqual(await list.project.events(), [])
  assert.equal((await first.agent.post(`${list.path}/join`, {})).body.status, 'exists')
  assert.equal((await list.join(newPerson())).status, 'created')
})

test('on a list that is no waitlist one subscribes, without a position', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.events()
  const email = newPerson()
  const { body } = await project.post(`/lists/${list.id}/join`, { email, ref: 'whatever' })
  assert.deepEqual({ ...body, subscriber_id: null }, { ...nothing, status: 'created' })
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])
  assert.equal((await project.post(`/lists/${list.id}/join`, { email })).body.status, 'exists')
  await confirmByMail(app, email)
  const { body: subscriber } = await project.get(`/lists/${list.id}/subscribers/${body.subscriber_id}`)
  assert.deepEqual([subscriber.status, subscriber.source, 'position' in subscriber], ['active', 'join', false])
  for (const path of ['stats', 'leaderboard']) assert.equal((await project.get(`/lists/${list.id}/${path}`)).status, 404)
  assert.equal((await project.post(`/lists/${list.id}/invite`, { all: true })).status, 404)
  const wrong = await project.patch(`/lists/${list.id}`, { waitlist_capacity: 5 })
  assert.deepEqual([wrong.status, wrong.body.error.message], [422, 'waitlist_capacity: is for lists of the type waitlist'])
})

test('who leaves, by whichever way, leaves the line; who comes back stands at its end', async () => {
  const list = await newWaitlist(app)
  const people = Array.from({ length: 5 }, () => newPerson())
  const ids: string[] = []
  for (const email of people) ids.push((await list.join(email)).subscriber_id)
  const [a, b, c, d, e] = people as [string, string, string, string, string]
  await list.project.patch(`${list.path}/subscribers/${ids[0]}`, { status: 'unsubscribed' })
  await list.project.delete(`${list.path}/subscribers/${ids[1]}`)
  const { body: contacts } = await list.project.get(`/contacts?search=${encodeURIComponent(c)}`)
  assert.equal((await list.project.delete(`/contacts/${contacts[0].id}`)).status, 204)
  assert.deepEqual(await list.standings(), { [a]: [null, null], [d]: ['waiting', 1], [e]: ['waiting', 2] })
  assert.deepEqual([(await list.join(a)).status, (await list.join(b)).position], ['created', 4])
  assert.deepEqual((await list.standings())[a], ['waiting', 3])
  await list.project.patch(`${list.path}/subscribers/${ids[0]}`, { status: 'active' })
  assert.deepEqual((await list.standings())[a], ['waiting', 3])
})

test('people who are imported stand in the order of the file; the export tells where they stand', async () => {
  const list = await newWaitlist(app)
  const people = Array.from({ length: 1_200 }, (_, index) => `p${(index * 7_919) % 10_000}@example.net`)
  const csv = ['email', ...people].join('\n')
  const { body } = await list.project.request('POST', `${list.path}/subscribers/import`, {
    body: csv,
    headers: { 'content-type': 'text/csv' },
  })
  assert.equal(body.imported, 1_200)
  const { body: exported } = await list.project.get(`${list.path}/subscribers/export`)
  const [header, ...rows] = (exported as string).trim().split('\r\n')
  assert.match(header as string, /,waitlist_status,position,referral_code,referral_count$/)
  const positions = new Map(rows.map((row) => [row.split(',')[0], Number(row.split(',')[7])]))
  assert.deepEqual(
    people.map((email) => positions.get(email)),
    people.map((_, index) => index + 1),
  )
})

test('a code is the list’s own: that of another list, or of nobody, is ignored', async () => {
  const [list, other] = [await newWaitlist(app), await newWaitlist(app)]
  const { referral_url } = await other.join(newPerson())
  for (const ref of [codeOf(referral_url), 'nobody', '', "' or 1=1 --"])
    assert.equal((await list.join(newPerson(), { ref })).status, 'created')
  const counted = await app.services.database.first<{ count: number }>`
    select count(*) as count from waitlist_entries where project_id = ${list.project.id} and referred_by is not null`
  assert.equal(counted?.count, 0)
})
