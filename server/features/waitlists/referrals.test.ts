import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { codeOf, confirmByMail, linkFor, newPerson, newWaitlist, type TestWaitlist } from '../../../tests/support/waitlists.ts'

const app = await startApp()

/** A line of five who came one after the other, and the referral code of the last. */
async function lineOfFive(settings: object = {}): Promise<{ list: TestWaitlist; people: string[]; ref: string; last: string }> {
  const list = await newWaitlist(app, settings)
  const people = Array.from({ length: 5 }, () => newPerson())
  let ref = ''
  for (const email of people) ref = codeOf((await list.join(email)).referral_url)
  return { list, people, ref, last: people[4] as string }
}
const positionOf = async (list: TestWaitlist, email: string) => (await list.standings())[email]?.[1]

test('a referral moves its referrer up once it is confirmed, by as many places as the list says', async () => {
  const { list, people, ref, last } = await lineOfFive()
  const friend = newPerson('friend')
  await list.join(friend, { ref })
  assert.equal(await positionOf(list, last), 5)
  await confirmByMail(app, friend)
  assert.deepEqual(await Promise.all([last, ...people.slice(0, 4), friend].map((email) => positionOf(list, email))), [2, 1, 3, 4, 5, 6])
  await confirmByMail(app, friend)
  assert.equal(await positionOf(list, last), 2)
  const { body } = await list.project.get(`${list.path}/stats`)
  assert.deepEqual(
    body.top_referrers.map(({ label, referral_count }: { label: string; referral_count: number }) => [label, referral_count]),
    [[last, 1]],
  )
  const { body: board } = await list.project.get(`${list.path}/leaderboard`)
  assert.deepEqual(board, [{ id: body.top_referrers[0].id, label: last, referral_count: 1, rank: 1, position: 2 }])
})

test('a list may move people up further, or not at all', async () => {
  for (const [referral_boost, expected] of [
    [0, 5],
    [1, 4],
    [50, 1],
  ] as const) {
    const { list, ref, last } = await lineOfFive({ referral_boost })
    const friend = newPerson('friend')
    await list.join(friend, { ref })
    await confirmByMail(app, friend)
    assert.equal(await positionOf(list, last), expected)
  }
  const { list } = await lineOfFive()
  for (const referral_boost of [-1, 51, 1.5, '3']) assert.equal((await list.project.patch(list.path, { referral_boost })).status, 422)
})

test('nobody moves up by themselves, by another spelling of an address, or by the same person twice', async () => {
  const list = await newWaitlist(app)
  for (let ahead = 0; ahead < 8; ahead++) await list.join(newPerson())
  const self = 'jo.doe@gmail.com'
  const ref = codeOf((await list.join(self)).referral_url)
  await confirmByMail(app, self)
  for (const email of ['jodoe+1@gmail.com', 'j.o.d.o.e@googlemail.com']) {
    await list.join(email, { ref })
    await confirmByMail(app, email)
  }
  assert.equal(await positionOf(list, self), 9)
  for (const email of ['pal@example.com', 'pal+again@example.com', 'PAL+x@example.com']) {
    await list.join(email, { ref })
    await confirmByMail(app, email.toLowerCase() === 'pal+x@example.com' ? 'PAL+x@example.com' : email)
  }
  assert.equal(await positionOf(list, self), 6)
})

test('who leaves and joins again moves nobody up a second time', async () => {
  const { list, ref, last } = await lineOfFive({ referral_boost: 1 })
  const friend = newPerson('friend')
  const { subscriber_id } = await list.join(friend, { ref })
  await confirmByMail(app, friend)
  assert.equal(await positionOf(list, last), 4)
  await list.project.patch(`${list.path}/subscribers/${subscriber_id}`, { status: 'unsubscribed' })
  assert.equal((await list.join(friend, { ref })).status, 'created')
  await confirmByMail(app, friend)
  assert.equal(await positionOf(list, last), 4)
})

test('of a crowd that joins through the page from one place, three move their referrer up', async () => {
  const list = await newWaitlist(app, { referral_boost: 1 })
  for (let ahead = 0; ahead < 8; ahead++) await list.join(newPerson())
  const referrer = newPerson('referrer')
  const ref = codeOf((await list.join(referrer)).referral_url)
  const page = `${app.url}/s/${list.subdomain}/join?ref=${ref}`
  for (let one = 0; one < 5; one++) {
    const shown = /name="shown" value="([^"]+)"/.exec(await (await fetch(page)).text())?.[1] as string
    app.clock.advance(2_000)
    const email = newPerson('crowd')
    const answer = await fetch(page, { method: 'POST', body: new URLSearchParams({ email, ref, shown }), headers: { origin: app.url } })
    assert.match(await answer.text(), /Look into your mailbox/)
    await confirmByMail(app, email)
  }
  assert.equal(await positionOf(list, referrer), 6)
})

test('of a crowd with addresses of one domain, three a day move their referrer up; a large provider’s are people', async () => {
  const list = await newWaitlist(app, { referral_boost: 1 })
  for (let ahead = 0; ahead < 12; ahead++) await list.join(newPerson())
  const referrer = newPerson('referrer')
  const ref = codeOf((await list.join(referrer)).referral_url)
  const bring = async (email: string) => {
    await list.join(email, { ref })
    await confirmByMail(app, email)
  }
  for (const domain of ['catch.test', 'a.catch.test', 'b.catch.test', 'c.catch.test', 'catch.test'])
    await bring(newPerson('x').replace('example.org', domain))
  assert.equal(await positionOf(list, referrer), 10)
  for (let one = 0; one < 4; one++) await bring(newPerson('y').replace('example.org', 'gmx.de'))
  assert.equal(await positionOf(list, referrer), 6)
  app.clock.advance(25 * 3_600_000)
  await bring('late@catch.test')
  assert.equal(await positionOf(list, referrer), 5)
})

test('a referrer who has left, or is gone, holds nobody up', async () => {
  const { list, ref, last } = await lineOfFive()
  const friend = newPerson('friend')
  await list.join(friend, { ref })
  const { body } = await list.project.get(`${list.path}/subscribers?search=${encodeURIComponent(last)}`)
  await list.project.delete(`${list.path}/subscribers/${body[0].id}`)
  await confirmByMail(app, friend)
  assert.equal(await positionOf(list, friend), 5)
})

test('confirmations at the same time move a referrer up by all of them', async () => {
  const list = await newWaitlist(app, { referral_boost: 2 })
  for (let ahead = 0; ahead < 20; ahead++) await list.join(newPerson())
  const referrer = newPerson('referrer')
  const ref = codeOf((await list.join(referrer)).referral_url)
  const friends = Array.from({ length: 8 }, (_, index) => `friend-${index}@gmail.com`)
  for (const email of friends) await list.join(email, { ref })
  const links = await Promise.all(friends.map((email) => linkFor(app, email, '/confirm/')))
  const answers = await Promise.all(links.map((link) => fetch(link, { method: 'POST' })))
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text())
  assert.equal(await positionOf(list, referrer), 5)
})
