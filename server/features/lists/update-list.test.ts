import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

async function newList() {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News', description: 'Of the day' })
  await project.events()
  return { project, list, path: `/lists/${list.id}` }
}

test('every field can be changed, and the event carries the list as it is then', async () => {
  const { project, list, path } = await newList()
  const changes = {
    name: 'Tidings',
    description: 'Of the week',
    reply_to: 'Editor@Example.org',
    confirmation_message: 'Welcome!',
    postal_address: '1 High Street',
    track_opens: true,
    track_clicks: true,
    show_posts: false,
    show_subscriber_count: true,
    language: 'pt-BR',
    accent_color: '#B4451F',
    logo_url: 'https://img.example.org/logo.png',
    welcome_message: 'Good to have you',
    footer: 'Written on Sundays',
  }
  const { status, body } = await project.patch(path, changes)
  assert.equal(status, 200)
  assert.deepEqual(body, { ...list, ...changes, reply_to: 'Editor@example.org' })
  assert.deepEqual((await project.get(path)).body, body)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'list.updated', data: { list_id: list.id, list: body } }])
})

test('what is left out stays, and null empties what may be empty', async () => {
  const { project, list, path } = await newList()
  await project.patch(path, { reply_to: 'a@example.org', confirmation_message: 'Hi', postal_address: 'Here', track_opens: true })
  const { body } = await project.patch(path, { description: null, reply_to: null, confirmation_message: null, postal_address: null })
  assert.deepEqual(body, { ...list, description: null, track_opens: true })
  const { body: emptied } = await project.patch(path, { description: '' })
  assert.equal(emptied.description, '')
})

test('words for the mail to people who have not confirmed need what sending needs; those that are there stay', async () => {
  const { project, path } = await newList()
  const writer = await project.withKey(['read', 'write'])
  const refused = await writer.patch(path, { name: 'Tidings', confirmation_message: 'Go to http://evil.example at once.' })
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
  assert.match(refused.body.error.message, /lacks the scope "send"/)
  assert.match(refused.headers.get('www-authenticate') ?? '', /error="insufficient_scope", scope="send"/)
  const { body: unchanged } = await project.get(path)
  assert.deepEqual([unchanged.name, unchanged.confirmation_message], ['News', null])
  assert.deepEqual(await project.events(), [])

  const sender = await project.withKey(['read', 'write', 'send'])
  assert.equal((await sender.patch(path, { confirmation_message: 'Hi' })).body.confirmation_message, 'Hi')
  assert.equal((await writer.patch(path, { name: 'Tidings', confirmation_message: 'Hi' })).body.name, 'Tidings')
  assert.equal((await writer.patch(path, { description: 'Old' })).body.confirmation_message, 'Hi')
  assert.equal((await writer.patch(path, { confirmation_message: 'Ho' })).status, 403)
  assert.equal((await writer.patch(path, { confirmation_message: null })).body.confirmation_message, null)
  assert.deepEqual(await project.events(), Array(4).fill('list.updated'))
})

test('the subdomain and the mailbox do not follow a new name', async () => {
  const { project, list, path } = await newList()
  const { body } = await project.patch(path, { name: 'Something else' })
  assert.equal(body.subdomain, list.subdomain)
  assert.equal(body.mailbox_address, list.mailbox_address)
})

test('fields that cannot be changed, and unknown ones, are ignored', async () => {
  const { project, list, path } = await newList()
  const { status, body } = await project.patch(path, {
    id: 'x',
    type: 'waitlist',
    subdomain: 'mine',
    subscriber_count: 9,
    what: 1,
    name: 'New',
  })
  assert.equal(status, 200)
  assert.deepEqual(body, { ...list, name: 'New' })
})

test('a change that changes nothing publishes nothing', async () => {
  const { project, list, path } = await newList()
  for (const body of [{}, undefined, { name: 'News' }, { name: ' News ', track_opens: false, reply_to: null }]) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, list)
  }
  assert.deepEqual(await project.events(), [])
})

test('what is wrong is named, and nothing is changed', async () => {
  const { project, list, path } = await newList()
  const cases: [unknown, RegExp][] = [
    [{ name: '' }, /^name: must not be empty/],
    [{ name: null }, /^name: must be a string/],
    [{ name: 'x'.repeat(201) }, /^name: must have at most 200/],
    [{ description: 'x'.repeat(5001) }, /^description: must have at most 5000/],
    [{ track_opens: 'yes' }, /^track_opens: must be true or false/],
    [{ track_clicks: null }, /^track_clicks: must be true or false/],
    [{ show_posts: 1 }, /^show_posts: must be true or false/],
    [{ show_subscriber_count: 'true' }, /^show_subscriber_count: must be true or false/],
    [{ reply_to: 'nobody' }, /^reply_to: has no @/],
    [{ reply_to: 'a@example.org\r\nBcc: b@example.org' }, /^reply_to: /],
    [{ name: 'New', postal_address: 5 }, /^postal_address: must be a string/],
    [{ language: 'not a language' }, /^language: must be a language tag, such as en, de or pt-BR/],
    [{ language: null }, /^language: must be a string/],
    [{ accent_color: 'red' }, /^accent_color: must be a colour like #2f5bd0/],
    [{ accent_color: '#12345g' }, /^accent_color: must be a colour/],
    [{ accent_color: '#fff;}' }, /^accent_color: /],
    [{ logo_url: 'http://example.org/a.png' }, /^logo_url: must be an address that begins with https:/],
    [{ logo_url: 'javascript:alert(1)' }, /^logo_url: must be/],
    [{ logo_url: 'https://' }, /^logo_url: must be/],
    [{ footer: 'x'.repeat(2001) }, /^footer: must have at most 2000/],
    [{ welcome_message: 5 }, /^welcome_message: must be a string/],
    [[], /^body: must be an object/],
    ['text', /^body: must be an object/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.equal(answer.body.error.code, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual((await project.get(path)).body, list)
  assert.deepEqual(await project.events(), [])
})

test('another project’s list is not found, and stays as it is', async () => {
  const { project, list, path } = await newList()
  const other = await app.newProject()
  const { status, body } = await other.patch(path, { name: 'Mine now' })
  assert.equal(status, 404)
  assert.equal(body.error.code, 'not_found')
  assert.deepEqual((await project.get(path)).body, list)
  assert.deepEqual([...(await project.events()), ...(await other.events())], [])
})

test('twenty changes of different fields at once are all kept', async () => {
  const { project, path } = await newList()
  const changes = [{ name: 'A' }, { description: 'B' }, { track_opens: true }, { show_posts: false }, { postal_address: 'C' }]
  const answers = await Promise.all([...changes, ...changes, ...changes, ...changes].map((change) => project.patch(path, change)))
  assert.ok(answers.every((answer) => answer.status === 200))
  const { body } = await project.get(path)
  const { name, description, track_opens, show_posts, postal_address } = body
  assert.deepEqual(
    { name, description, track_opens, show_posts, postal_address },
    { name: 'A', description: 'B', track_opens: true, show_posts: false, postal_address: 'C' },
  )
})
