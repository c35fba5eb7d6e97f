import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { queuedMail } from '../../../tests/support/subscribers.ts'
import { newVisitor } from '../../../tests/support/visitor.ts'
import { confirmByMail, newPerson, newWaitlist, type TestWaitlist } from '../../../tests/support/waitlists.ts'

/** Of ten a day the project's own keys have ten, and strangers ten more: one place three of them. */
const app = await startApp({ JOINS_PER_HOUR: '100' })
const ofPlan = 10
const ofOnePlace = 3

async function newSmallWaitlist(): Promise<TestWaitlist> {
  const list = await newWaitlist(app)
  await list.project.setPlan('anonymous')
  return list
}

type Asker = ReturnType<typeof speaking>
const ask = async (asker: Asker, list: TestWaitlist, email: string) => {
  const { status, body } = await asker.post(`${list.path}/join`, { email })
  return { status, said: body.status ?? body.error.message }
}
const welcome = { status: 200, said: 'created' }
const refusal = { status: 429, said: 'Too many tried to join today. Try again tomorrow.' }

async function fillIn(list: TestWaitlist, email: string) {
  const visitor = newVisitor(app.url)
  const path = `/s/${list.subdomain}/join`
  const shown = /name="shown" value="([^"]+)"/.exec((await visitor.get(path)).html)?.[1] as string
  app.clock.advance(3_000)
  const { status, html } = await visitor.post(path, { shown, email })
  return { status, html }
}

test('once the owner has used up the day, strangers and the page hear the same of members and of others, and can join', async () => {
  const list = await newSmallWaitlist()
  const member = newPerson('member')
  await list.join(member)
  await confirmByMail(app, member)
  // More than the plan has, as after a smaller one was taken: what strangers hear must not depend on that either.
  await list.project.setPlan('free')
  for (let more = 1; more < ofPlan + 5; more++) await list.join(newPerson())
  await list.project.setPlan('anonymous')
  const refused = await list.project.post(`${list.path}/join`, { email: newPerson() })
  assert.deepEqual([refused.status, /take a larger plan/.test(refused.body.error.message)], [429, true])
  const stranger = await app.newProject([])
  const [fresh, visitor] = [newPerson('fresh'), newPerson('visitor')]
  for (const email of [member, fresh]) assert.deepEqual(await ask(stranger, list, email), welcome)
  const answers = [await fillIn(list, member), await fillIn(list, visitor)]
  assert.deepEqual(answers[0], answers[1])
  assert.match(answers[1]?.html ?? '', /Look into your mailbox/)
  const sent = (await queuedMail(app, list.project)).map(({ recipient }) => recipient)
  assert.deepEqual(
    [fresh, visitor].map((email) => sent.includes(email)),
    [true, true],
  )
})

test('strangers never use up what the owner may ask for, and hear the same of everybody when theirs is used up', async () => {
  const list = await newSmallWaitlist()
  const member = newPerson('member')
  await list.join(member)
  await confirmByMail(app, member)
  for (let left = ofPlan; left > 0; left -= ofOnePlace) {
    const stranger = await app.newProject([])
    for (let one = 0; one < Math.min(ofOnePlace, left); one++) assert.deepEqual(await ask(stranger, list, newPerson('asked')), welcome)
  }
  const another = await app.newProject([])
  await list.project.events()
  for (const email of [member, newPerson()]) {
    assert.deepEqual(await ask(another, list, email), refusal)
    const page = await fillIn(list, email)
    assert.deepEqual([page.status, page.html.includes(refusal.said), /larger plan/.test(page.html)], [429, true, false])
  }
  assert.deepEqual(await list.project.events(), [])

  const { body: news } = await list.project.post('/lists', { name: 'News' })
  for (let one = 1; one < ofPlan; one++)
    assert.equal((await list.project.post(`/lists/${news.id}/subscribers`, { email: newPerson() })).status, 201)
  assert.equal((await list.project.post(`/lists/${news.id}/subscribers`, { email: newPerson() })).status, 429)
  app.clock.advance(25 * 3_600_000)
  assert.deepEqual(await ask(another, list, newPerson()), welcome)
})

test('agents that nobody has claimed count by where they come from, together with the page; many at once count one by one', async () => {
  const list = await newSmallWaitlist()
  const member = newPerson('member')
  await list.join(member)
  const agents = await Promise.all([1, 2].map(async () => speaking(app.url, (await registerAnonymous(app)).credential)))
  const answers = await Promise.all(agents.flatMap((agent) => [1, 2, 3, 4].map(() => ask(agent, list, newPerson('asked')))))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array(3).fill(200), ...Array(5).fill(429)])
  for (const agent of agents) for (const email of [member, newPerson()]) assert.deepEqual(await ask(agent, list, email), refusal)
  assert.equal((await fillIn(list, newPerson())).status, 429)
  assert.deepEqual(await ask(await app.newProject([]), list, newPerson()), welcome)
  assert.equal(Object.keys(await list.standings()).length, 5)
  // As itself an agent asks for no mail.
  for (const agent of agents) assert.equal((await agent.post(`${list.path}/join`, {})).body.status, 'created')
})
