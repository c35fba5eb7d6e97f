import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost, newSentPost } from '../../../tests/support/posts.ts'

const app = await startApp({ ROLES: 'http,consumers' })

test('who got it, who did not, and why', async () => {
  const { project, list, path } = await newSentPost(app, ['delivered', 'bounced'])
  const { status, body } = await project.get(`${path}/deliveries`)
  assert.equal(status, 200)
  const [delivered, bounced] = body
  assert.match(delivered.id, /^dlv_[0-9a-z]{26}$/)
  const { body: subscribers } = await project.get(`/lists/${list.id}/subscribers`)
  assert.equal(delivered.subscriber_id, subscribers.find(({ email }: { email: string }) => email === 'reader-1@example.org').id)
  assert.ok(Date.parse(delivered.sent_at) && Date.parse(delivered.settled_at))
  const same = { id: 0, subscriber_id: 0, sent_at: 0, settled_at: 0, attempts: 1, opened_at: null, open_count: 0, click_count: 0 }
  assert.deepEqual(
    [delivered, bounced].map((one) => ({ ...one, id: 0, subscriber_id: 0, sent_at: 0, settled_at: 0 })),
    [
      { ...same, email: 'reader-1@example.org', status: 'delivered', smtp_code: 250, enhanced_code: null, reason: null },
      {
        ...same,
        email: 'reader-2@example.org',
        status: 'bounced',
        smtp_code: 550,
        enhanced_code: '5.1.1',
        reason: 'The mailbox does not exist',
      },
    ],
  )
  assert.equal(bounced.sent_at, null)
  assert.deepEqual(await project.events(), [])
})

test('by status, a page at a time, each once', async () => {
  const { project, path } = await newSentPost(app, ['failed', 'delivered', 'failed', 'queued', 'failed', 'complained', 'sending'])
  for (const [wanted, emails] of Object.entries({
    failed: ['reader-1', 'reader-3', 'reader-5'],
    delivered: ['reader-2'],
    queued: ['reader-4'],
    complained: ['reader-6'],
    sending: ['reader-7'],
    bounced: [],
  })) {
    const { body } = await project.get(`${path}/deliveries?status=${wanted}`)
    assert.deepEqual(
      body.map(({ email }: { email: string }) => email.split('@')[0]),
      emails,
      wanted,
    )
  }
  const seen: string[] = []
  let next: string | null = `${path}/deliveries?limit=3`
  for (let pages = 1; next; pages++) {
    const answer = await project.get(next)
    assert.ok(answer.body.length <= 3 && pages <= 3)
    seen.push(...answer.body.map(({ email }: { email: string }) => email))
    const link = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
    const url = link ? new URL(link) : null
    next = url && `${url.pathname.replace(/^\/v1/, '')}${url.search}`
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 7 }, (_, index) => `reader-${index + 1}@example.org`),
  )
})

test('a post that was not sent has none; what cannot be asked for is refused; another project’s is not found', async () => {
  const { project, path } = await newPost(app, { subscribers: 1 })
  assert.deepEqual((await project.get(`${path}/deliveries`)).body, [])
  for (const [query, message] of [
    ['status=sent', /^status: /],
    ['limit=0', /^limit: /],
    ['limit=201', /^limit: /],
    ['cursor=made-up', /^cursor: /],
  ] as const) {
    const { status, body } = await project.get(`${path}/deliveries?${query}`)
    assert.equal(status, 422, query)
    assert.match(body.error.message, message)
  }
  const stranger = await app.newProject()
  for (const what of ['deliveries', 'deliveries/export']) assert.equal((await stranger.get(`${path}/${what}`)).status, 404)
  assert.equal((await stranger.post(`${path}/deliveries/retry`)).status, 404)
  assert.deepEqual(await project.events(), [])
})

test('the same as CSV', async () => {
  const { project, post, path } = await newSentPost(app, ['delivered', 'bounced', 'failed'])
  const answer = await project.get(`${path}/deliveries/export`)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(answer.headers.get('content-disposition'), `attachment; filename="${post.id}-deliveries.csv"`)
  const lines = (answer.body as string).split('\r\n')
  assert.equal(lines[0], 'email,status,attempts,smtp_code,enhanced_code,reason,sent_at,settled_at,opened_at,open_count,click_count')
  assert.match(lines[1] as string, /^reader-1@example.org,delivered,1,250,,,\d{4}-[^,]+Z,\d{4}-[^,]+Z,,0,0$/)
  assert.match(lines[2] as string, /^reader-2@example.org,bounced,1,550,5.1.1,The mailbox does not exist,,\d{4}-[^,]+Z,,0,0$/)
  assert.equal(lines.length, 5)
  const failed = (await project.get(`${path}/deliveries/export?status=failed`)).body as string
  assert.match(failed.split('\r\n')[1] as string, /^reader-3@example.org,failed,/)
  assert.equal(failed.split('\r\n').length, 3)
  assert.deepEqual(await project.events(), [])
})

test('a cell that a spreadsheet would run is text, and what is no status is refused', async () => {
  const { project, path } = await newSentPost(app, ['bounced'])
  await app.services.database.run`
    update deliveries set email = '=cmd@example.org', reason = '+1+1, "quoted"' where project_id = ${project.id}`
  const { body } = await project.get(`${path}/deliveries/export`)
  assert.match((body as string).split('\r\n')[1] as string, /^'=cmd@example\.org,bounced,1,550,5\.1\.1,"'\+1\+1, ""quoted""",/)
  const refused = await project.get(`${path}/deliveries/export?status=sent`)
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^status: /)
  assert.deepEqual(await project.events(), [])
})

test('more than one page is exported, each once', async () => {
  const { project, path } = await newSentPost(app, ['delivered'])
  await app.services.database.run`
    insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, status, next_attempt_at)
    select project_id, gen_random_uuid(), broadcast_id, gen_random_uuid(), contact_id, 'p' || n || '@example.org', 'delivered', now()
    from deliveries, generate_series(1, 12000) n where project_id = ${project.id}`
  const { body } = await project.get(`${path}/deliveries/export`)
  const emails = (body as string)
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',')[0])
  assert.deepEqual([emails.length, new Set(emails).size], [12_001, 12_001])
})
