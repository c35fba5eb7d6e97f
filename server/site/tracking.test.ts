import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import type { TestProject } from '../../tests/support/project.ts'
import { countsOf, ledgerOf, newSentPost, type TestRecipient } from '../../tests/support/recipients.ts'
import { until } from '../../tests/support/until.ts'
import { capturedFor } from '../../tests/support/visitor.ts'
import { formatDeliveryToken } from '../base/delivery-token.ts'
import { newId, parseId } from '../base/ids.ts'

const app = await startApp()
const { database } = app.services
const browser = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const visit = (path: string, { agent = browser, method = 'GET' } = {}) =>
  fetch(app.url + path, { method, redirect: 'manual', headers: { 'user-agent': agent } })
const open = (token: string, options = {}) => visit(`/o/${token}.gif`, options)
const click = (token: string, number: number | string, options = {}) => visit(`/c/${token}/${number}`, options)

const seen = async (project: TestProject, recipient: TestRecipient): Promise<[opens: number, clicks: number, machines: number]> => {
  const row = await ledgerOf(app, project, recipient)
  return [row?.open_count ?? 0, row?.click_count ?? 0, row?.machine_open_count ?? 0]
}
/** Waits until the ledger counts what is expected, and looks once more whether it stays so. */
const untilSeen = async (project: TestProject, recipient: TestRecipient, expected: [number, number, number]) => {
  const last = await until(`${expected} to be counted`, async () => {
    const now = await seen(project, recipient)
    return now.reduce((a, b) => a + b) >= expected.reduce((a, b) => a + b) ? now : null
  })
  assert.deepEqual(last, expected)
}
/** Something that is counted after all that was noted before it. */
const settle = async () => {
  const marker = await newSentPost(app)
  await open(marker.first.tokens.open)
  await untilSeen(marker.project, marker.first, [1, 0, 0])
}
const subscriberOf = async (project: TestProject, listId: string) => {
  const [{ id }] = (await project.get(`/lists/${listId}/subscribers`)).body
  return (await project.get(`/lists/${listId}/subscribers/${id}`)).body
}
const contactOf = async (project: TestProject) => (await project.get('/contacts')).body[0]

test('the pixel of the mail is one, is not kept, and counts an open', async () => {
  const { project, list, path, post, first } = await newSentPost(app)
  const [mail] = (await capturedFor(app, first.email)).slice(-1)
  const src = /<img[^>]+src="([^"]+\/o\/[^"]+)"/.exec(mail?.html ?? '')?.[1] as string
  assert.equal(src, `${app.url}/o/${first.tokens.open}.gif`)
  const response = await open(first.tokens.open)
  assert.deepEqual(
    [response.status, response.headers.get('content-type'), response.headers.get('cache-control')],
    [200, 'image/gif', 'no-store'],
  )
  const picture = Buffer.from(await response.arrayBuffer())
  assert.deepEqual([picture.length, picture.subarray(0, 6).toString('latin1')], [43, 'GIF89a'])
  await untilSeen(project, first, [1, 0, 0])
  await open(first.tokens.open)
  await untilSeen(project, first, [2, 0, 0])
  assert.deepEqual((await project.get(path)).body.stats, { recipients: 1, delivered: 1, opened: 1, clicked: 0, bounced: 0 })
  assert.equal((await countsOf(app, project, post.id))?.opened, 1)
  const subscriber = await subscriberOf(project, list.id)
  assert.ok(subscriber.last_open_at)
  assert.equal(subscriber.last_click_at, null)
  const contact = await contactOf(project)
  assert.deepEqual([contact.total_opens, contact.total_clicks], [2, 0])
  assert.ok(contact.last_activity_at)
  assert.deepEqual(await project.events(), [], 'nobody asked for email.opened')
})

test('a link of the mail leads where the author said, and counts a click', async () => {
  const { project, list, path, first } = await newSentPost(app)
  const [mail] = (await capturedFor(app, first.email)).slice(-1)
  const hrefs = [...(mail?.html ?? '').matchAll(/href="([^"]+\/c\/[^"]+)"/g)].map(([, href]) => href)
  assert.deepEqual(hrefs, [`${app.url}/c/${first.tokens.click}/0`, `${app.url}/c/${first.tokens.click}/1`])
  const targets = ['https://example.org/a', 'https://example.org/b?x=1&y=2']
  for (const [number, target] of targets.entries()) {
    const response = await click(first.tokens.click, number)
    assert.deepEqual([response.status, response.headers.get('location')], [302, target])
    assert.deepEqual([response.headers.get('cache-control'), response.headers.get('referrer-policy')], ['no-store', 'no-referrer'])
  }
  await click(first.tokens.click, 1)
  await untilSeen(project, first, [0, 3, 0])
  assert.equal((await project.get(path)).body.stats.clicked, 1)
  const links = await database.many`select number, url, clicks from broadcast_links where project_id = ${project.id} order by number`
  assert.deepEqual(
    links.map((link) => ({ ...(link as object) })),
    targets.map((url, number) => ({ number, url, clicks: number + 1 })),
  )
  assert.ok((await subscriberOf(project, list.id)).last_click_at)
  assert.equal((await contactOf(project)).total_clicks, 3)
  assert.deepEqual(await project.events(), [])
})

test('no open redirect: what is not a link of that mail leads nowhere, and counts nothing', async () => {
  const mine = await newSentPost(app)
  const other = await newSentPost(app, { body: { body_html: '<a href="https://example.org/secret">x</a>' } })
  const { tokens, id } = mine.first
  const token = tokens.click
  const foreign = formatDeliveryToken(app.services.secrets, 'click', { kind: 'delivery', project_id: other.project.id, id })
  const forged = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`
  const table: [token: string, number: string][] = [
    [token, '2'],
    [token, '99'],
    [token, '32768'],
    [token, '99999'],
    [token, '-1'],
    [token, '1e0'],
    [token, '0x1'],
    [token, ' 1'],
    [token, encodeURIComponent('https://evil.example/')],
    [token, 'x?url=https://evil.example'],
    [foreign, '0'],
    [forged, '0'],
    ['preview', '0'],
    [tokens.open, '0'],
    [tokens.unsubscribe, '0'],
    [tokens.return_path, '0'],
    [formatDeliveryToken(app.services.secrets, 'click', { kind: 'email', project_id: mine.project.id, id }), '0'],
    [formatDeliveryToken(app.services.secrets, 'click', { kind: 'delivery', project_id: mine.project.id, id: newId() }), '0'],
  ]
  for (const [one, number] of table) {
    const response = await click(one, number)
    assert.equal(response.status, 404, `${one} ${number}`)
    assert.equal(response.headers.get('location'), null)
    assert.match(await response.text(), /This link leads nowhere/)
  }
  // A query cannot change where a link leads.
  assert.equal((await visit(`/c/${token}/0?url=https://evil.example`)).headers.get('location'), 'https://example.org/a')
  for (const one of [foreign, forged, 'preview', '%00', token, tokens.unsubscribe, tokens.return_path])
    assert.equal((await open(one)).status, 200, 'the same picture for all')
  await untilSeen(mine.project, mine.first, [0, 1, 0])
  await settle()
  assert.deepEqual(await seen(mine.project, mine.first), [0, 1, 0])
  assert.deepEqual(await seen(other.project, other.first), [0, 0, 0])
})

test('an address outside ASCII survives the header', async () => {
  const { first } = await newSentPost(app, { body: { body_html: '<a href="https://example.org/grüße?q=日本">x</a>' } })
  const response = await click(first.tokens.click, 0)
  assert.deepEqual([response.status, response.headers.get('location')], [302, 'https://example.org/gr%C3%BC%C3%9Fe?q=%E6%97%A5%E6%9C%AC'])
})

test('scanners, privacy proxies and what comes right after delivery are counted apart', async () => {
  const { project, list, path, first } = await newSentPost(app)
  const proxy = 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'
  for (const agent of ['Mozilla/5.0', proxy, 'curl/8.9.1']) await open(first.tokens.open, { agent })
  assert.equal((await click(first.tokens.click, 0, { agent: 'Barracuda Sentinel (EE)' })).status, 302)
  assert.equal((await click(first.tokens.click, 1, { method: 'HEAD' })).status, 302)
  await untilSeen(project, first, [0, 0, 5])
  // The clock of a server that scans while it takes the mail.
  await database.run`update deliveries set sent_at = ${app.clock.now()} where project_id = ${project.id}`
  await open(first.tokens.open)
  await click(first.tokens.click, 0)
  await untilSeen(project, first, [0, 0, 7])
  await database.run`update deliveries set sent_at = null where project_id = ${project.id}`
  await open(first.tokens.open)
  await untilSeen(project, first, [0, 0, 8])
  const { stats } = (await project.get(path)).body
  assert.deepEqual([stats.opened, stats.clicked], [0, 0])
  const subscriber = await subscriberOf(project, list.id)
  assert.deepEqual([subscriber.last_open_at, subscriber.last_click_at], [null, null])
  assert.equal((await contactOf(project)).total_opens, 0)
  assert.equal((await ledgerOf(app, project, first))?.opened_at, null)
})

test('a list without tracking keeps nothing of its readers', async () => {
  const { project, path, first } = await newSentPost(app, { tracked: false })
  const [mail] = (await capturedFor(app, first.email)).slice(-1)
  assert.doesNotMatch(mail?.html ?? '', /\/o\/|\/c\//)
  // Switched on later: mail that left before stays as it was.
  await project.patch(`/lists/${(await project.get('/lists')).body[0].id}`, { track_opens: true, track_clicks: true })
  await open(first.tokens.open)
  await click(first.tokens.click, 0)
  await open(first.tokens.open, { agent: 'curl/8.9.1' })
  await settle()
  assert.deepEqual(await seen(project, first), [0, 0, 0])
  assert.deepEqual((await project.get(path)).body.stats.opened, 0)
})

test('a storm: thousands at once are all counted, each person once', async () => {
  const { project, post, recipients } = await newSentPost(app, { subscribers: 40 })
  const visits = Array.from({ length: 3_000 }, (_, number) => ({ one: recipients[number % 40] as TestRecipient, number }))
  for (let begin = 0; begin < visits.length; begin += 200) {
    await Promise.all(
      visits.slice(begin, begin + 200).map(async ({ one, number }) => {
        const response = number % 3 === 0 ? await click(one.tokens.click, number % 2) : await open(one.tokens.open)
        await response.arrayBuffer()
      }),
    )
  }
  const totals = () => database.first<{ opens: number; clicks: number }>`
    select sum(open_count)::integer as opens, sum(click_count)::integer as clicks from deliveries where project_id = ${project.id}`
  await until('all to be written', async () => (await totals())?.clicks === 1_000 && (await totals())?.opens === 2_000)
  const counts = await countsOf(app, project, post.id)
  assert.deepEqual([counts?.opened, counts?.clicked], [40, 40])
  const sums = await database.first<{ opens: number; clicks: number; links: number }>`
    select sum(total_opens)::integer as opens, sum(total_clicks)::integer as clicks,
      (select sum(clicks)::integer from broadcast_links where project_id = ${project.id}) as links
    from contacts where project_id = ${project.id}`
  assert.deepEqual({ ...sums }, { opens: 2_000, clicks: 1_000, links: 1_000 })
})

test('what was noted is written when the program stops', async () => {
  const second = await startApp({}, { connection: app.connection, clock: app.clock })
  const { project, post, recipients } = await newSentPost(app, { subscribers: 3 })
  for (const { tokens } of recipients) await fetch(`${second.url}/o/${tokens.open}.gif`, { headers: { 'user-agent': browser } })
  await second.stop()
  const row = await database.first<{ opened: number }>`
    select opened from broadcasts where project_id = ${project.id} and post_id = ${parseId('post', post.id)}`
  assert.equal(row?.opened, 3)
})
