import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

test('a list gets a subdomain, a mailbox and its defaults', async () => {
  const project = await app.newProject()
  const { status, body } = await project.post('/lists', { name: 'Café & Friends', description: 'Coffee' })
  assert.equal(status, 201)
  assert.match(body.id, /^lst_[0-9a-z]{26}$/)
  assert.deepEqual(
    { ...body, id: 0, mailbox_id: 0, created_at: 0 },
    {
      id: 0,
      name: 'Café & Friends',
      subdomain: 'cafe-friends',
      type: 'newsletter',
      description: 'Coffee',
      subscriber_count: 0,
      mailbox_id: 0,
      mailbox_address: 'cafe-friends@posthaste.test',
      sender_name: null,
      sender_domain: null,
      sender_email: 'cafe-friends@posthaste.test',
      sender_domain_status: null,
      warmup_status: null,
      reply_to: null,
      confirmation_message: null,
      postal_address: null,
      language: 'en',
      accent_color: null,
      logo_url: null,
      welcome_message: null,
      footer: null,
      track_opens: false,
      track_clicks: false,
      show_posts: true,
      show_subscriber_count: false,
      created_at: 0,
    },
  )
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map((event) => event.type),
    ['mailbox.created', 'list.created'],
  )
  assert.deepEqual(events[1]?.data, { list_id: body.id, list: body })
})

test('the second list of a name gets a number, and so do reserved and unwritable names', async () => {
  const project = await app.newProject()
  const subdomainOf = async (name: string) => (await project.post('/lists', { name })).body.subdomain
  assert.equal(await subdomainOf('Weekly'), 'weekly')
  assert.equal(await subdomainOf('weekly!'), 'weekly-2')
  assert.equal(await subdomainOf('Admin'), 'admin-list')
  assert.equal(await subdomainOf('週刊'), 'list')
})

test('twenty lists of one name at once all get one of their own', async () => {
  const project = await app.newProject()
  const answers = await Promise.all(Array.from({ length: 20 }, () => project.post('/lists', { name: 'Rush' })))
  assert.deepEqual(
    answers.map((answer) => answer.status),
    Array(20).fill(201),
  )
  assert.equal(new Set(answers.map((answer) => answer.body.subdomain)).size, 20)
})

test('names that reach for the same number at once do not collide', async () => {
  const project = await app.newProject()
  await project.post('/lists', { name: 'Near' })
  const names = ['Near', 'Near 2', 'Near', 'Near 3', 'Near 2', 'Near', 'Near 2 2', 'Near']
  const answers = await Promise.all(names.map((name) => project.post('/lists', { name })))
  assert.deepEqual(
    answers.map((answer) => answer.status),
    names.map(() => 201),
  )
})

test('what is wrong is named, and nothing is made', async () => {
  const project = await app.newProject()
  const cases: [unknown, RegExp][] = [
    [undefined, /^name: is required/],
    [{}, /^name: is required/],
    [{ name: '' }, /^name: must not be empty/],
    [{ name: '   ' }, /^name: must not be empty/],
    [{ name: 5 }, /^name: must be a string/],
    [{ name: null }, /^name: must be a string/],
    [{ name: 'x'.repeat(201) }, /^name: must have at most 200/],
    [{ name: 'x', type: 'blog' }, /^type: must be one of newsletter, waitlist, announcement/],
    [{ name: 'x', description: [] }, /^description: must be a string/],
    [[], /^body: must be an object/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post('/lists', body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.equal(answer.body.error.code, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual(await project.events(), [])
  assert.deepEqual((await project.get('/lists')).body, [])
})
