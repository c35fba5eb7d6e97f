import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { freePort } from '../../../tests/support/free-port.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { sendRaw } from '../../../tests/support/raw-http.ts'
import { newSite, publish, visit } from '../../../tests/support/sites.ts'
import { until } from '../../../tests/support/until.ts'

const port = await freePort()
const app = await startApp({ PORT: String(port), PUBLIC_URL: `http://localhost:${port}` })

test('whoever has a page is told that it is still good, until it is not', async () => {
  const { project, list, at } = await newSite(app)
  const { slug } = await publish(project, list, { subject: 'One' })
  for (const path of ['/', '/archive', `/p/${slug}`, '/feed.xml', '/sitemap.xml', '/favicon.svg']) {
    const { headers } = await visit(app, `${at}${path}`)
    const etag = headers.get('etag') as string
    assert.match(etag, /^W\/"[\w-]{22}"$/, path)
    assert.equal(headers.get('cache-control'), 'public, max-age=60')
    assert.equal(headers.get('vary'), 'accept-encoding')
    for (const known of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
      const again = await visit(app, `${at}${path}`, { 'if-none-match': known })
      assert.deepEqual([again.status, again.body, again.headers.get('etag')], [304, '', etag], `${path} ${known}`)
    }
    assert.equal((await visit(app, `${at}${path}`, { 'if-none-match': '"other"' })).status, 200)
  }
})

test('a new post, a change of the list and a new subscriber show within moments', async () => {
  const { project, list, at } = await newSite(app)
  await project.patch(`/lists/${list.id}`, { show_subscriber_count: true })
  const shows = (words: string) => until(words, async () => (await visit(app, at)).body.includes(words))
  await shows('0 subscribers')
  await publish(project, list, { subject: 'Brand new' })
  await shows('Brand new')
  await project.patch(`/lists/${list.id}`, { name: 'Renamed' })
  await shows('<h1>Renamed</h1>')
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', verified: true })
  await shows('1 subscriber<')
  await project.delete(`/lists/${list.id}`)
  await until('the site to be gone', async () => (await visit(app, at)).status === 404)
})

test('pages come compressed to whoever takes them so, and are the same', async () => {
  const { at } = await newSite(app)
  const plain = await raw(at, '')
  assert.deepEqual([plain.headers['content-encoding'], plain.headers['content-length']], [undefined, String(plain.body.length)])
  const read = { br: brotliDecompressSync, gzip: gunzipSync }
  for (const [accepted, expected] of [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['BR', 'br'],
  ] as const) {
    const response = await raw(at, accepted)
    assert.equal(response.headers['content-encoding'], expected, accepted)
    assert.deepEqual(read[expected](response.body), plain.body)
    assert.ok(response.body.length < plain.body.length / 2)
  }
  for (const none of ['identity', 'br;q=0, gzip;q=0.0', 'deflate'])
    assert.equal((await raw(at, none)).headers['content-encoding'], undefined, none)
})

test('every page says what it may load, and runs nothing', async () => {
  const { project, list, at } = await newSite(app)
  const { slug } = await publish(project, list, { subject: 'One', body_html: '<p style="text-align:center">x</p>' })
  for (const path of ['/', '/archive', '/archive?q=x', `/p/${slug}`, '/nothing']) {
    const { headers, body } = await visit(app, `${at}${path}`)
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(
      policy,
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src 'self' https: data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      path,
    )
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('set-cookie'), null)
    assert.doesNotMatch(body, /<script(?! type="application\/ld\+json")|\sstyle=|\son\w+=/, path)
  }
})

test('the hash in the policy is that of the sheet as a browser reads it', async () => {
  const { project, list, at } = await newSite(app)
  const bodies = [
    '<p style="font-family:Arial,\r\n sans-serif">x</p>',
    '<style>p{font-family:Arial,\r\n sans-serif;\r\ncolor:red}</style>\r\n<p>x</p>',
    '<p style="color:red">x</p>',
  ]
  for (const body_html of bodies) {
    const { slug } = await publish(project, list, { subject: 'Styled', body_html })
    const { headers, body } = await visit(app, `${at}/p/${slug}`)
    const sheet = /<style>([^<]*)<\/style>/.exec(body.replace(/\r\n?/g, '\n'))?.[1] ?? ''
    const hash = createHash('sha256').update(sheet).digest('base64')
    assert.match(sheet, /\.words\.words \.s0\{/)
    assert.ok(headers.get('content-security-policy')?.includes(`'sha256-${hash}'`), body_html)
  }
})

test('HEAD is answered like GET, without a body; whatever else is posted to a page is refused', async () => {
  const { at } = await newSite(app)
  const [look, head] = [await visit(app, `${at}/archive`), await visit(app, `${at}/archive`, {}, 'HEAD')]
  assert.deepEqual([head.status, head.body], [200, ''])
  assert.equal(head.headers.get('etag'), look.headers.get('etag'))
  for (const method of ['PUT', 'DELETE', 'PATCH']) assert.equal((await visit(app, `${at}/archive`, {}, method)).status, 404)
})

const asked = (host: string, path: string, method = 'GET') =>
  sendRaw(`http://127.0.0.1:${port}`, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\nConnection: close\r\n\r\n`)

test('a site is at its own subdomain as well: links begin at its root, and nothing else of the installation is there', async () => {
  const { project, list } = await newSite(app, { name: 'By Host' })
  const { slug } = await publish(project, list, { subject: 'Hosted' })
  const host = `${list.subdomain}.localhost:${port}`
  const home = await asked(host, '/')
  assert.equal(home.status, 200)
  assert.match(home.body, /<h1>By Host<\/h1>/)
  assert.match(home.body, new RegExp(`<a href="/p/${slug}">Hosted</a>`))
  assert.match(home.body, new RegExp(`<link rel="canonical" href="http://${host}/">`))
  for (const path of [`/p/${slug}`, '/archive', '/feed.xml', '/robots.txt', '/join'])
    assert.equal((await asked(host, path)).status, 200, path)
  for (const path of ['/account', '/v1/lists', '/sign-in', '/reference', `/s/${list.subdomain}/`, '/dev/outbox'])
    assert.equal((await asked(host, path)).status, 404, path)
  assert.equal((await asked(host.toUpperCase(), '/')).status, 200)
  assert.equal((await asked(`${list.subdomain}.localhost.`, '/')).status, 200)
  assert.equal((await asked('nobody.localhost', '/')).status, 404)
  const path = await visit(app, `/s/${list.subdomain}/`)
  assert.match(path.body, new RegExp(`<a href="/s/${list.subdomain}/p/${slug}">`))
  assert.match(path.body, new RegExp(`<link rel="canonical" href="http://${host}/">`), 'one address for both')
})

test('hosts that are nobody’s site show the installation, as ever', async () => {
  for (const host of [
    'localhost',
    '127.0.0.1',
    'www.localhost',
    'api.localhost',
    'mail.example.com',
    'a b',
    '[::1]',
    '..',
    'x'.repeat(300),
  ]) {
    const { status, body } = await asked(host, '/')
    if (status === 400) continue
    assert.equal(status, 200, host)
    assert.match(body, /Posthaste is running/, host)
  }
  assert.equal((await asked('unknown.example', '/healthz')).status, 200)
  assert.equal((await asked('unknown.example', '/-/site-of-host')).status, 404)
  assert.equal((await asked('localhost', '/-/site-of-host')).status, 404)
  assert.equal((await asked('unknown.example', '/v1/lists')).status, 401)
})

/** As bytes: `fetch` takes compression away. */
function raw(path: string, encoding: string) {
  return new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    const headers: Record<string, string> = encoding === '' ? {} : { 'accept-encoding': encoding }
    request(new URL(path, app.url), { headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }))
    })
      .once('error', reject)
      .end()
  })
}
