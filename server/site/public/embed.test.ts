import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { queuedMail } from '../../../tests/support/subscribers.ts'
import { newVisitor } from '../../../tests/support/visitor.ts'
import { newPerson } from '../../../tests/support/waitlists.ts'

const app = await startApp({ JOINS_PER_HOUR: '50' })

async function newSite(type = 'newsletter') {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News & "more"', type })
  await project.events()
  const url = `${app.url}/s/${list.subdomain}`
  const ask = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/subscribe.json`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://blog.example', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
  }
  return { project, list, url, ask }
}

test('the page has a form to copy that works from elsewhere, and says nothing that another page would run', async () => {
  const { project, url } = await newSite()
  const { status, html } = await newVisitor(app.url).get(new URL(`${url}/embed`).pathname)
  assert.equal(status, 200)
  const copied = /<textarea id="form"[^>]*>([\s\S]*?)<\/textarea>/.exec(html)?.[1]?.replace(/&(lt|gt|quot|amp|#39);/g, unescaped) as string
  assert.match(copied, /^<form action="http[^"]+\/subscribe" method="post">/)
  assert.ok(!/<script|on\w+=/.test(copied))
  const action = /action="([^"]+)"/.exec(copied)?.[1] as string
  const fields = [...copied.matchAll(/type="hidden" name="([^"]+)" value="([^"]+)"/g)].map(
    ([, name, value]) => [name, value] as [string, string],
  )
  const sent = await fetch(action, {
    method: 'POST',
    headers: { origin: 'https://blog.example', 'sec-fetch-site': 'cross-site' },
    body: new URLSearchParams([...fields, ['email', newPerson()], ['website', '']]),
  })
  assert.deepEqual([sent.status, /Look into your mailbox/.test(await sent.text())], [200, true])
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])
  assert.equal((await newVisitor(app.url).get('/s/nobody-here/embed')).status, 404)
})
const unescaped = (_: string, name: string) => ({ lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" })[name] as string

test('a script of any page subscribes, and is told the same whoever is on the list', async () => {
  const { project, list, ask } = await newSite()
  const [fresh, active, suppressed] = [newPerson(), newPerson(), newPerson()]
  await project.post(`/lists/${list.id}/subscribers`, { email: active, verified: true })
  await project.post('/suppressions', { email: suppressed })
  await project.events()
  for (const email of [fresh, active, suppressed]) {
    const { status, body, headers } = await ask({ email, name: 'Ann' })
    assert.deepEqual([status, body], [200, { status: 'check_your_inbox' }])
    assert.deepEqual(
      [headers.get('access-control-allow-origin'), headers.get('access-control-allow-credentials'), headers.get('set-cookie')],
      ['*', null, null],
    )
  }
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])
  const { body } = await project.get(`/lists/${list.id}/subscribers?status=pending`)
  assert.deepEqual([body[0].source, body[0].name, body.length], ['form', 'Ann', 1])
})

test('a browser may ask first, and reads refusals as well', async () => {
  const { project, ask, url } = await newSite()
  const preflight = await fetch(`${url}/subscribe.json`, {
    method: 'OPTIONS',
    headers: { origin: 'https://blog.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
  })
  assert.equal(preflight.status, 204)
  assert.deepEqual(
    ['origin', 'methods', 'headers'].map((name) => preflight.headers.get(`access-control-allow-${name}`)),
    ['*', 'POST', 'content-type'],
  )
  const refused: [unknown, number, RegExp][] = [
    [{}, 422, /email/],
    [{ email: 'x' }, 422, /email/],
    [{ email: 17 }, 422, /email/],
    [{ email: 'a@example.org\r\nBcc: b@example.org' }, 422, /email/],
    [{ email: newPerson(), name: 'a\nb' }, 422, /name/],
    [{ email: newPerson(), name: 'a'.repeat(201) }, 422, /name/],
    [{ email: 'x@mailinator.com' }, 422, /throw-away/],
    [[], 422, /body/],
    ['{', 422, /JSON/],
    [{ email: newPerson(), name: 'a'.repeat(9_000) }, 413, /larger/],
  ]
  for (const [body, status, message] of refused) {
    const answer = await ask(body)
    assert.deepEqual([answer.status, message.test(answer.body.error.message)], [status, true], JSON.stringify(answer.body))
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  }
  assert.equal((await ask(`email=${newPerson()}`, { 'content-type': 'application/x-www-form-urlencoded' })).status, 422)
  assert.equal((await ask({ email: newPerson() }, { 'content-type': 'text/plain' })).status, 422)
  assert.deepEqual((await ask({ email: newPerson(), website: 'x' })).body, { status: 'check_your_inbox' })
  assert.deepEqual(await project.events(), [])
  assert.deepEqual(await queuedMail(app, project), [])
})

test('the limits are those of the form, and a page reads that they are reached', async () => {
  const { ask } = await newSite()
  for (let round = 0; round < 50; round++) assert.equal((await ask({ email: newPerson() }, { 'x-forwarded-for': '192.0.2.9' })).status, 200)
  const { status, body, headers } = await ask({ email: newPerson() }, { 'x-forwarded-for': '192.0.2.9' })
  assert.deepEqual([status, body.error.code, headers.get('retry-after')], [429, 'rate_limited', '3600'])
  assert.equal(headers.get('access-control-allow-origin'), '*')
})

test('on a waitlist it joins; closed and unknown ones are said', async () => {
  const { project, list, ask, url } = await newSite('waitlist')
  assert.equal((await ask({ email: newPerson() })).status, 200)
  await project.patch(`/lists/${list.id}`, { waitlist_closed: true })
  const closed = await ask({ email: newPerson() })
  assert.deepEqual([closed.status, closed.body.error.code], [409, 'conflict'])
  const unknown = await fetch(url.replace(list.subdomain, 'nobody-here').concat('/subscribe.json'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: newPerson() }),
  })
  assert.equal(unknown.status, 404)
})
