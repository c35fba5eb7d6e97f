import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { sendRaw } from '../../../tests/support/raw-http.ts'
import { readConfig } from '../../base/config.ts'
import { baseOf, createSiteHosts } from './hosts.ts'

/** Domains of their own: asked about before the router sees the request, at most twice a second each. */
async function start() {
  const looked: string[] = []
  const domains: Record<string, string | null> = { 'letters.example.org': 'letters', 'gone.example.org': null }
  const hosts = createSiteHosts(readConfig({ PUBLIC_URL: 'https://posthaste.example.com' }), async (host) => {
    looked.push(host)
    return domains[host] ?? null
  })
  const app = fastify({ rewriteUrl: (request) => hosts.rewrite(request) ?? request.url ?? '/' })
  hosts.addRoutes(app)
  app.all<{ Params: { subdomain: string; '*': string } }>('/s/:subdomain/*', async (request) => ({
    site: request.params.subdomain,
    base: baseOf(request, request.params.subdomain),
    path: request.params['*'],
    body: request.body ?? null,
  }))
  app.all('/*', async (request) => ({ main: request.url, body: request.body ?? null }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  test.after(() => app.close())
  const url = `http://127.0.0.1:${(app.server.address() as { port: number }).port}`
  const ask = async (host: string, path: string, body?: object) => {
    const text = body ? JSON.stringify(body) : ''
    const head = `${body ? 'POST' : 'GET'} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n`
    const more = body ? `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n` : ''
    return JSON.parse((await sendRaw(url, `${head}${more}\r\n${text}`)).body)
  }
  const status = async (domain: string) =>
    (await sendRaw(url, `GET /-/is-site?domain=${domain} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)).status
  return { ask, status, looked, domains }
}

test('a domain that is a site’s leads there, with its path, its query and its body', async () => {
  const { ask } = await start()
  assert.deepEqual(await ask('letters.example.org', '/p/a?b=1'), { site: 'letters', base: '', path: 'p/a', body: null })
  assert.deepEqual(await ask('Letters.Example.org:443', '/subscribe', { email: 'x' }), {
    site: 'letters',
    base: '',
    path: 'subscribe',
    body: { email: 'x' },
  })
  assert.deepEqual(await ask('news.posthaste.example.com', '/archive'), { site: 'news', base: '', path: 'archive', body: null })
})

test('any other leads where it would without sites, with its body as well', async () => {
  const { ask } = await start()
  for (const host of [
    'other.example.org',
    'gone.example.org',
    'posthaste.example.com',
    'www.posthaste.example.com',
    '127.0.0.1',
    'a.b.posthaste.example.com',
  ])
    assert.deepEqual(await ask(host, '/x?y', { a: 1 }), { main: '/x?y', body: { a: 1 } }, host)
  assert.deepEqual(await ask('letters.example.org', '/.well-known/acme-challenge/abc'), {
    main: '/.well-known/acme-challenge/abc',
    body: null,
  })
  assert.deepEqual(await ask('posthaste.example.com', '/s/letters/p/a'), { site: 'letters', base: '/s/letters', path: 'p/a', body: null })
})

test('who is asked about often is looked up once in a while, whatever the answer; and a change is heard', async () => {
  const { ask, looked, domains } = await start()
  for (let time = 0; time < 5; time++) await Promise.all([ask('letters.example.org', '/'), ask('other.example.org', '/')])
  const count = looked.length
  assert.ok(count < 10, `${count} look-ups`)
  domains['other.example.org'] = 'letters'
  for (;;) if ((await ask('other.example.org', '/')).site === 'letters') break
  assert.equal(looked.includes('posthaste.example.com'), false)
})

test('a proxy may ask whether a domain is a site’s, before it gets a certificate for it', async () => {
  const { status, looked } = await start()
  for (const domain of ['letters.example.org', 'LETTERS.example.org.', 'posthaste.example.com'])
    assert.equal(await status(domain), 200, domain)
  for (const domain of ['other.example.org', 'gone.example.org', '127.0.0.1', 'localhost', '', '%00', 'a%20b.c'])
    assert.equal(await status(domain), 404, domain)
  assert.deepEqual(looked, ['letters.example.org', 'other.example.org', 'gone.example.org'])
})
