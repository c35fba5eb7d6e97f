import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'
import { linkFor, newPerson, newWaitlist, type TestWaitlist } from '../../../tests/support/waitlists.ts'

const app = await startApp()

/** People who have confirmed, in the order of the line. */
async function confirmed(list: TestWaitlist, count: number): Promise<{ email: string; id: string }[]> {
  const people = Array.from({ length: count }, () => newPerson())
  await list.project.post(`${list.path}/subscribers/import`, { subscribers: people.map((email) => ({ email })) })
  const { body } = await list.project.get(`${list.path}/subscribers?limit=100`)
  const idOf = new Map(body.map(({ email, id }: { email: string; id: string }) => [email, id]))
  await list.project.events()
  return people.map((email) => ({ email, id: idOf.get(email) as string }))
}

const mails = async (list: TestWaitlist) =>
  (
    await app.services.database.many<{ recipient: string }>`
      select recipient from messages where project_id = ${list.project.id} and kind = 'waitlist_invitation' order by recipient`
  ).map(({ recipient }) => recipient)

const invite = async (list: TestWaitlist, body: object) => {
  const answer = await list.project.post(`${list.path}/invite`, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

test('the next so many are invited, by position, with a mail each; who has not confirmed is passed over', async () => {
  const list = await newWaitlist(app)
  const pending = newPerson('pending')
  await list.join(pending)
  const people = await confirmed(list, 4)
  assert.deepEqual(await invite(list, { count: 2 }), { invited: 2 })
  assert.deepEqual(await list.project.events(), [])
  assert.deepEqual(await list.standings(), {
    [pending]: ['waiting', 1],
    [people[0]?.email as string]: ['invited', null],
    [people[1]?.email as string]: ['invited', null],
    [people[2]?.email as string]: ['waiting', 2],
    [people[3]?.email as string]: ['waiting', 3],
  })
  const expected = people
    .slice(0, 2)
    .map(({ email }) => email)
    .toSorted()
  await until('two invitations', async () => (await mails(list)).length === 2)
  assert.deepEqual(await mails(list), expected)
})

test('ids, a number and all add up; nobody is invited twice, and strangers are passed over', async () => {
  const [list, other] = [await newWaitlist(app), await newWaitlist(app)]
  const people = await confirmed(list, 6)
  const [stranger] = await confirmed(other, 1)
  const ids = people.map(({ id }) => id)
  const wanted = [ids[4], ids[4], stranger?.id, 'sub_01h455vb4pex5vsknk084sn02q']
  assert.deepEqual(await invite(list, { subscribers: wanted, count: 2 }), { invited: 3 })
  const standings = await list.standings()
  assert.deepEqual(
    people.map(({ email }) => standings[email]?.[0]),
    ['invited', 'invited', 'waiting', 'waiting', 'invited', 'waiting'],
  )
  assert.deepEqual(await invite(list, { subscribers: ids.slice(0, 2), all: false, count: 1 }), { invited: 1 })
  assert.deepEqual(await invite(list, { all: true }), { invited: 2 })
  assert.deepEqual(await invite(list, { all: true, count: 5, subscribers: ids }), { invited: 0 })
  await until('six invitations', async () => (await mails(list)).length === 6)
  assert.deepEqual((await other.project.get(`${other.path}/stats`)).body.invited, 0)
})

test('whom to invite must be said well; nobody is fine', async () => {
  const list = await newWaitlist(app)
  await confirmed(list, 1)
  for (const body of [{ count: 0 }, { count: 1.5 }, { count: '1' }, { subscribers: 'x' }, { subscribers: ['x'] }, { all: 1 }])
    assert.equal((await list.project.post(`${list.path}/invite`, body)).status, 422, JSON.stringify(body))
  for (const body of [{}, { all: false }, { subscribers: [] }]) assert.deepEqual(await invite(list, body), { invited: 0 })
  assert.deepEqual(await list.project.events(), [])
  assert.deepEqual((await list.project.get(`${list.path}/stats`)).body.waiting, 1)
})

test('invitations at the same time invite each once', async () => {
  const list = await newWaitlist(app)
  await confirmed(list, 20)
  const answers = await Promise.all(Array.from({ length: 6 }, () => invite(list, { count: 5 })))
  assert.equal(
    answers.reduce((sum, { invited }) => sum + invited, 0),
    20,
  )
  await until('twenty invitations', async () => (await mails(list)).length === 20)
  assert.equal(new Set(await mails(list)).size, 20)
})

test('invitations are counted by the plan; what does not fit is refused whole', async () => {
  const list = await newWaitlist(app)
  await confirmed(list, 12)
  await list.project.setPlan('anonymous')
  const refused = await list.project.post(`${list.path}/invite`, { all: true })
  assert.deepEqual([refused.status, refused.body.error.code], [402, 'limit_exceeded'])
  assert.match(refused.body.error.message, /2 of 12 invitations did not fit/)
  assert.deepEqual((await list.project.get(`${list.path}/stats`)).body.invited, 0)
  assert.deepEqual(await invite(list, { count: 10 }), { invited: 10 })
  assert.equal((await list.project.post(`${list.path}/invite`, { count: 1 })).status, 402)
})

test('whoever was invited before others used up the plan is counted, and has their mail', async () => {
  const list = await newWaitlist(app)
  const [ann] = await confirmed(list, 4)
  await list.project.setPlan('anonymous')
  // Others book what is left of the plan as soon as the first piece is booked.
  await app.services.database.run`
    create function use_up() returns trigger language plpgsql as $$ begin
      update usage_periods set used = 10 where project_id = new.project_id; return null; end $$`
  await app.services.database.run`create trigger use_up after insert on usage_reservations for each row execute function use_up()`
  try {
    assert.deepEqual(await invite(list, { subscribers: [ann?.id], count: 2 }), { invited: 1 })
  } finally {
    await app.services.database.run`drop function use_up cascade`
  }
  assert.deepEqual((await list.project.get(`${list.path}/stats`)).body.invited, 1)
  await until('the invitation', async () => (await mails(list)).length === 1)
  assert.equal((await list.project.post(`${list.path}/invite`, { count: 1 })).status, 402)
})

test('looking at an invitation changes nothing; the button accepts, once; who has left stays away', async () => {
  const list = await newWaitlist(app)
  const [ann, ben] = (await confirmed(list, 2)) as [{ email: string; id: string }, { email: string; id: string }]
  await invite(list, { all: true })
  const visit = async (method: string, link: string) => {
    const response = await fetch(link, { method })
    return { status: response.status, page: await response.text() }
  }
  const link = await linkFor(app, ann.email, '/invited/')
  for (const method of ['GET', 'HEAD', 'GET']) assert.equal((await visit(method, link)).status, 200)
  assert.match((await visit('GET', link)).page, /You are invited[\s\S]*<form method="post"><button>Accept/)
  const stats = async () => (await list.project.get(`${list.path}/stats`)).body
  assert.deepEqual(await stats(), { total: 2, waiting: 0, invited: 2, accepted: 0, conversion_rate: 0, top_referrers: [] })
  for (const method of ['POST', 'POST', 'GET']) assert.match((await visit(method, link)).page, /You are in/)
  assert.deepEqual(await stats(), { total: 2, waiting: 0, invited: 2, accepted: 1, conversion_rate: 0.5, top_referrers: [] })
  assert.deepEqual((await list.standings())[ann.email], ['accepted', null])
  assert.deepEqual(await list.project.events(), [])

  const other = await linkFor(app, ben.email, '/invited/')
  const leave = await linkFor(app, ben.email, '/w/')
  assert.match((await visit('POST', leave)).page, /You have left/)
  for (const method of ['GET', 'POST']) assert.equal((await visit(method, other)).status, 410)
  assert.deepEqual(await list.project.events(), ['subscriber.unsubscribed'])
  assert.equal((await stats()).accepted, 1)
  const token = link.slice(link.lastIndexOf('/') + 1)
  for (const bad of [token.slice(1), `${token}A`, leave.slice(leave.lastIndexOf('/') + 1), 'x'])
    for (const method of ['GET', 'POST']) assert.equal((await visit(method, `${app.url}/invited/${bad}`)).status, 404)
})

// Last: other mail would wait behind theirs.
test('thousands are invited at once; their mails follow, one each', async () => {
  const list = await newWaitlist(app)
  const csv = ['email', ...Array.from({ length: 2_300 }, (_, index) => `crowd-${index}@example.invalid`)].join('\n')
  await list.project.request('POST', `${list.path}/subscribers/import`, { body: csv, headers: { 'content-type': 'text/csv' } })
  assert.deepEqual(await invite(list, { all: true }), { invited: 2_300 })
  await until('all invitations', async () => (await mails(list)).length === 2_300, { withinMs: 60_000 })
  assert.equal(new Set(await mails(list)).size, 2_300)
})
