import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { catalogue } from '../../events/catalogue.ts'

const app = await startApp()

async function newList(project: TestProject): Promise<string> {
  const { body } = await project.post('/lists', { name: 'Readers' })
  await project.events()
  return body.id
}
const postCsv = (project: TestProject, list: string, csv: string | Buffer) =>
  project.request('POST', `/lists/${list}/subscribers/import`, { body: csv, headers: { 'content-type': 'text/csv' } })
const listed = async (project: TestProject, list: string) =>
  ((await project.get(`/lists/${list}/subscribers?limit=200`)).body as { email: string; name: string | null }[])
    .map(({ email, name }) => `${email} ${name ?? '-'}`)
    .sort()

test('a JSON import makes active subscribers and contacts, with their events', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  const { status, body } = await project.post(`/lists/${list}/subscribers/import`, {
    subscribers: [{ email: 'Ann@Example.com', name: 'Ann' }, { email: 'bo@example.com' }],
  })
  assert.equal(status, 201)
  assert.deepEqual(body, { imported: 2, skipped: 0, errors: [], errors_omitted: 0 })
  assert.deepEqual(await listed(project, list), ['Ann@example.com Ann', 'bo@example.com -'])
  assert.equal((await project.get(`/lists/${list}`)).body.subscriber_count, 2)
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map((event) => event.type),
    ['contact.created', 'contact.created', 'subscriber.created', 'subscriber.created'],
  )
  for (const event of events)
    assert.equal(catalogue[event.type as keyof typeof catalogue].data.safeParse(event.data).success, true, JSON.stringify(event))
  const subscriber = (await project.get(`/lists/${list}/subscribers?search=ann`)).body[0]
  assert.deepEqual(
    events.find((event) => (event.data.subscriber as { email?: string })?.email === 'Ann@example.com')?.data.subscriber,
    subscriber,
  )
})

test('who is there, has left, has bounced or is suppressed is skipped, and the answer says why', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  const add = async (email: string) => (await project.post(`/lists/${list}/subscribers`, { email, verified: true })).body.id as string
  await add('there@example.com')
  await project.patch(`/lists/${list}/subscribers/${await add('left@example.com')}`, { status: 'unsubscribed' })
  const bounced = await add('bounced@example.com')
  await app.services.database
    .run`update subscribers set status = 'bounced' where project_id = ${project.id} and email_key = 'bounced@example.com'`
  assert.ok(bounced)
  await project.post('/suppressions', { email: 'gone@example.com' })
  await project.events()
  const { body } = await postCsv(
    project,
    list,
    'email,name\nthere@example.com,\nLEFT@example.com,\nbounced@example.com,\ngone@example.com,\nnew@example.com,\nNEW@example.com,\nnonsense,\n',
  )
  assert.deepEqual({ ...body, errors: undefined }, { imported: 1, skipped: 6, errors: undefined, errors_omitted: 0 })
  const reasonOf = (email: string) => body.errors.find((error: { email: string }) => error.email.toLowerCase() === email)?.reason
  assert.match(reasonOf('there@example.com'), /is on this list already \(line 2\)/)
  assert.match(reasonOf('left@example.com'), /has unsubscribed.*\(line 3\)/)
  assert.match(reasonOf('bounced@example.com'), /has bounced.*\(line 4\)/)
  assert.match(reasonOf('gone@example.com'), /is suppressed.*manual.*\(line 5\)/)
  assert.match(reasonOf('new@example.com'), /twice \(line 7\)/)
  assert.match(reasonOf('nonsense'), /has no @ ?.*\(line 8\)/)
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])
})

test('CSV is read as people have it', async () => {
  const files: [string, string | Buffer, string[]][] = [
    ['no header', 'a@example.com,Ann\nb@example.com,Bo\n', ['a@example.com Ann', 'b@example.com Bo']],
    ['semicolons, BOM and CRLF', '\ufeffE-Mail;Name\r\na@example.com;Ann, the first\r\n', ['a@example.com Ann, the first']],
    ['tabs', 'Email Address\tFirst Name\tLast Name\na@example.com\tAnn\tLee\n', ['a@example.com Ann Lee']],
    ['quotes and a line break inside', 'name,email\n"Ann ""the"" Lee",a@example.com\n', ['a@example.com Ann "the" Lee']],
    ['no newline at the end, empty lines between', 'email\n\na@example.com\n\nb@example.com', ['a@example.com -', 'b@example.com -']],
    ['our own guard against formulas', "email,name\na@example.com,'=1+1\n", ['a@example.com =1+1']],
    ['an internationalised address', 'email\njosé@münchen.example\n', ['josé@münchen.example -']],
  ]
  for (const [what, csv, expected] of files) {
    const project = await app.newProject()
    const list = await newList(project)
    const { status, body } = await postCsv(project, list, csv)
    assert.equal(status, 201, `${what}: ${JSON.stringify(body)}`)
    assert.deepEqual(await listed(project, list), expected, what)
  }
})

test('whoever has left elsewhere is not brought back by a file: our own export, those of others, and JSON', async () => {
  const project = await app.newProject()
  const [left, entered] = [await newList(project), await newList(project)]
  await project.post(`/lists/${left}/subscribers/import`, { subscribers: [{ email: 'ann@example.com' }, { email: 'bob@example.com' }] })
  const bob = (await project.get(`/lists/${left}/subscribers?search=bob`)).body[0]
  await project.patch(`/lists/${left}/subscribers/${bob.id}`, { status: 'unsubscribed' })
  const exported = await project.request('GET', `/lists/${left}/subscribers/export`)
  const moved = await postCsv(project, entered, String(exported.body))
  assert.deepEqual([moved.body.imported, moved.body.skipped], [1, 1])
  assert.deepEqual(moved.body.errors[0].email, 'bob@example.com')
  assert.match(moved.body.errors[0].reason, /^has the status "unsubscribed" in this file, and only active people are imported \(line \d\)$/)

  const others = await postCsv(
    project,
    entered,
    'Email Address,Subscribed\nc@example.com,true\nd@example.com,FALSE\ne@example.com,\nf@example.com,Opted-in\ng@example.com,abgemeldet\n',
  )
  assert.deepEqual([others.body.imported, others.body.skipped], [3, 2])
  const people = [
    { email: 'h@example.com', status: 'active' },
    { email: 'i@example.com', status: 'bounced' },
  ]
  assert.equal((await project.post(`/lists/${entered}/subscribers/import`, { subscribers: people })).body.imported, 1)
  assert.deepEqual(
    await listed(project, entered),
    ['ann', 'c', 'e', 'f', 'h'].map((name) => `${name}@example.com -`),
  )
})

test('a file that is no list of addresses is refused, naming what is wrong', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  const noColumn = await postCsv(project, list, 'first,last\nAnn,Lee\n')
  assert.equal(noColumn.status, 422)
  assert.match(noColumn.body.error.message, /no column named "email"/)
  const openQuote = await postCsv(project, list, 'email,name\na@example.com,"never closed\nb@example.com,x\n')
  assert.equal(openQuote.status, 422)
  assert.match(openQuote.body.error.message, /not well-formed CSV/)
  const latin1 = await postCsv(project, list, Buffer.from('email,name\nlatin@example.com,Jos\xe9\n', 'latin1'))
  assert.match(latin1.body.errors[0].reason, /not UTF-8/)
  const empty = await postCsv(project, list, '')
  assert.deepEqual([empty.status, empty.body.imported], [201, 0])
  assert.deepEqual(await project.events(), [])
})

test('ten thousand lines come in whole, twice over they change nothing', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  const csv = `email,name\n${Array.from({ length: 10_000 }, (_, n) => `reader${n}@example.com,Reader ${n}`).join('\n')}\n`
  assert.equal((await postCsv(project, list, csv)).body.imported, 10_000)
  assert.equal((await project.events()).length, 20_000)
  const again = (await postCsv(project, list, csv)).body
  assert.deepEqual([again.imported, again.skipped, again.errors.length], [0, 10_000, 10_000])
  assert.deepEqual(await project.events(), [])
  assert.equal((await project.get(`/lists/${list}`)).body.subscriber_count, 10_000)
  const { week, items } = (await project.get(`/lists/${list}/activity?limit=200`)).body
  assert.equal(items.length, 200)
  assert.ok(week.subscribed > 0)
})

test('two imports of the same people at once make each of them once', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  const people = Array.from({ length: 5_000 }, (_, n) => ({ email: `both${n}@example.com` }))
  const [one, two] = await Promise.all([
    project.post(`/lists/${list}/subscribers/import`, { subscribers: people }),
    project.post(`/lists/${list}/subscribers/import`, { subscribers: people.toReversed() }),
  ])
  assert.equal(one.body.imported + two.body.imported, 5_000)
  assert.equal((await project.events()).filter((type) => type === 'subscriber.created').length, 5_000)
  assert.equal((await project.get(`/lists/${list}`)).body.subscriber_count, 5_000)
})

test('a list of another project is not found, and a missing field is named', async () => {
  const [project, stranger] = [await app.newProject(), await app.newProject()]
  const list = await newList(project)
  assert.equal((await stranger.post(`/lists/${list}/subscribers/import`, { subscribers: [] })).status, 404)
  assert.equal((await postCsv(stranger, list, 'a@example.com')).status, 404)
  const answer = await project.post(`/lists/${list}/subscribers/import`, { subscribers: [{ name: 'x' }] })
  assert.equal(answer.status, 422)
  assert.match(answer.body.error.message, /^subscribers\[0\]\.email: is required/)
})

test('a list that is deleted under an import takes nobody any more', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  async function* lines() {
    for (let n = 0; n < 1_500; n++) yield Buffer.from(`before${n}@example.com\n`)
    await until('the first thousand', async () => (await project.get(`/lists/${list}`)).body.subscriber_count >= 1_000)
    await project.delete(`/lists/${list}`)
    for (let n = 0; n < 1_500; n++) yield Buffer.from(`after${n}@example.com\n`)
  }
  const answer = await project.request('POST', `/lists/${list}/subscribers/import`, {
    body: Readable.from(lines()) as never,
    headers: { 'content-type': 'text/csv' },
  })
  assert.equal(answer.status, 404)
  const late = await app.services.database.many`select 1 from subscribers where project_id = ${project.id} and email_key like 'after%'`
  assert.equal(late.length, 0)
})

test('a contact without a name takes the one that an import brings, and is found by it', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  const { body: other } = await project.post('/lists', { name: 'Other' })
  await project.post(`/lists/${other.id}/subscribers`, { email: 'bob@example.com', verified: true })
  await project.events()
  await postCsv(project, list, 'email,name\nbob@example.com,Bobby Tables\n')
  assert.deepEqual(await project.events(), ['contact.updated', 'subscriber.created'])
  assert.equal((await project.get(`/lists/${list}/subscribers?search=bobby`)).body.length, 1)
})

test('names for many who had none are one event row, beside those of whom more is known; told are single events', async () => {
  const project = await app.newProject()
  const people = 30
  const csv = (nameOf: (n: number) => string) =>
    `email,name\n${Array.from({ length: people }, (_, n) => `reader-${n}@example.com,${nameOf(n)}`).join('\n')}\n`
  await postCsv(
    project,
    await newList(project),
    csv(() => ''),
  )
  const known = { email: 'reader-7@example.com', tags: ['$0'], metadata: { plan: ['$1', 2, null] }, org: '$2', verified: true }
  await project.post(`/lists/${await newList(project)}/subscribers`, known)
  const named = { email: 'reader-8@example.com', name: 'Known before', verified: true }
  await project.post(`/lists/${await newList(project)}/subscribers`, named)
  await app.services.database.run`
    update contacts set country = 'DE', city = 'Köln', timezone = 'Europe/Berlin', total_opens = 3, last_activity_at = ${app.clock.now()}
    where project_id = ${project.id} and email_key = 'reader-9@example.com'`
  const other = await newList(project)
  await project.events()

  const { body } = await postCsv(
    project,
    other,
    csv((n) => `$${n}`),
  )
  assert.equal(body.imported, people)
  const rows = await app.services.database.many<{ item_count: number }>`
    select item_count from events where project_id = ${project.id} and type = 'contact.updated' and items is not null`
  assert.deepEqual(rows, [{ item_count: people - 2 }])
  const events = await project.eventsWithData()
  const told = events.filter(({ type }) => type === 'contact.updated')
  assert.deepEqual([told.length, events.length], [people - 1, 2 * people - 1])
  for (const { data } of told) assert.deepEqual(data.contact, (await project.get(`/contacts/${data.contact_id}`)).body)
  const nameOf = new Map(told.map(({ data }) => [(data.contact as { email: string }).email, (data.contact as { name: string }).name]))
  assert.deepEqual(
    [nameOf.get('reader-7@example.com'), nameOf.get('reader-9@example.com'), nameOf.has('reader-8@example.com')],
    ['$7', '$9', false],
  )
})

test('a body full of rubbish is refused at its first item', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  const body = `{"subscribers":[${'1,'.repeat(3_000_000)}1]}`
  const headers = { 'content-type': 'application/json' }
  const answer = await project.request('POST', `/lists/${list}/subscribers/import`, { body, headers })
  assert.deepEqual([answer.status, answer.body.error.message], [422, 'subscribers[0].email: is required'])
  const tags = await project.request('POST', `/lists/${list}/subscribers`, {
    body: `{"email":"a@b.example","tags":[${'1,'.repeat(400_000)}1]}`,
    headers,
  })
  assert.deepEqual([tags.status, tags.body.error.message], [422, 'tags: must have at most 100 items'])
})

test('a client that writes before it reads still learns why it was refused', async () => {
  const project = await app.newProject()
  const list = await newList(project)
  const body = `first,last\n${'Ann,Lee\n'.repeat(2_000_000)}`
  const answer = await rawRequest(
    app.url,
    `POST /v1/lists/${list}/subscribers/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.key}\r\nContent-Type: text/csv\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
  assert.match(answer, /^HTTP\/1\.1 422 /)
  assert.match(answer, /no column named/)
})

/** Writes all of it, and only then reads. */
function rawRequest(url: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.pause().once('error', reject)
    socket.write(text, () => {
      let answer = ''
      socket
        .on('data', (data) => {
          answer += data
        })
        .once('close', () => resolve(answer))
        .resume()
    })
  })
}
