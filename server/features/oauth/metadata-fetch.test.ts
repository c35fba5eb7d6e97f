import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startHttpsPeer } from '../../../tests/support/https-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { createMetadataFetch } from './metadata-fetch.ts'

const anywhere = () => true
const soon = () => ({ signal: AbortSignal.timeout(2_500) })

/** A site that this machine may be asked for, by a name that only the test's DNS server knows. */
async function site(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const peer = await startHttpsPeer(answer)
  t.after(peer.stop)
  const dns = await startDnsPeer({ localhost: { A: ['127.0.0.1'] } })
  t.after(dns.close)
  return { peer, dns, read: createMetadataFetch({ ALLOW_PRIVATE_WEBHOOKS: false, DNS_SERVERS: [dns.address] }, anywhere) }
}

test('a name is looked up once, and the connection goes where the answer led', async (t) => {
  const { peer, dns, read } = await site(t, (_request, response) => response.setHeader('cache-control', 'max-age=9').end('{}'))
  const response = await read(`${peer.url}/app`, soon())
  assert.deepEqual([response.status, await response.text(), response.headers.get('cache-control')], [200, '{}', 'max-age=9'])
  assert.deepEqual(dns.asked.toSorted(), ['A localhost', 'AAAA localhost'])
  assert.deepEqual(peer.asked, ['/app'])
})

test('a name that leads inside, if only with one of its addresses, is not asked', async (t) => {
  const peer = await startHttpsPeer((_request, response) => response.end('{}'))
  t.after(peer.stop)
  const dns = await startDnsPeer({ 'inside.test': { A: ['127.0.0.1'] }, 'both.test': { A: ['8.8.8.8', '127.0.0.1'] } })
  t.after(dns.close)
  const read = createMetadataFetch({ ALLOW_PRIVATE_WEBHOOKS: false, DNS_SERVERS: [dns.address] })
  const { port } = new URL(peer.url)
  for (const host of ['inside.test', 'both.test', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]'])
    await assert.rejects(read(`https://${host}:${port}/app`, soon()), /is not on the open internet/, host)
  assert.deepEqual(peer.asked, [])
})

test('a name server that is silent does not hold anybody up, and its name is not asked for again at once', async (t) => {
  const dns = await startDnsPeer({ 'silent.test': { fails: 'silence' }, 'mute.test': { fails: 'silence' } })
  t.after(dns.close)
  const read = createMetadataFetch({ ALLOW_PRIVATE_WEBHOOKS: false, DNS_SERVERS: [dns.address] })
  await assert.rejects(read('https://silent.test/app', { signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' })
  await assert.rejects(read('https://mute.test/app'), /mute\.test has no address/)
  const asked = dns.asked.length
  await assert.rejects(read('https://silent.test/app'), { name: 'TimeoutError' })
  await assert.rejects(read('https://mute.test/app'), /mute\.test has no address/)
  assert.equal(dns.asked.length, asked)
})

test('four are read at once; a fifth waits, and is not blamed when its time runs out', async (t) => {
  const held: ServerResponse[] = []
  const { peer, read } = await site(t, (_request, response) => void held.push(response))
  const first = [1, 2, 3, 4].map((at) => read(`${peer.url}/${at}`))
  await until('four are asked', () => held.length === 4)
  await assert.rejects(read(`${peer.url}/5`, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
  const fifth = read(`${peer.url}/5`)
  assert.equal(peer.asked.includes('/5'), false)
  for (const response of held) response.end('{}')
  assert.deepEqual(
    (await Promise.all(first)).map(({ status }) => status),
    [200, 200, 200, 200],
  )
  await until('the fifth is asked', () => held.length === 5)
  held[4]?.end('{}')
  assert.equal((await fifth).status, 200)
})

test('what is no document is refused, and not read again for a minute', async (t) => {
  const { peer, read } = await site(t, (request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: `${peer.url}/there` }).end()
    else if (request.url === '/gone') response.writeHead(404).end('{}')
    else if (request.url === '/long') response.end('x'.repeat(6_000))
    else if (request.url === '/cut') response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy())
    else response.write('{')
  })
  const cases: [string, RegExp][] = [
    ['/moved', /answered 302/],
    ['/gone', /answered 404/],
    ['/long', /longer than 5120 bytes/],
    ['/cut', /aborted/],
    ['/slow', /aborted/],
  ]
  for (const [path, problem] of cases)
    for (let times = 0; times < 2; times++) await assert.rejects(read(peer.url + path, { signal: AbortSignal.timeout(300) }), problem, path)
  assert.deepEqual(
    peer.asked,
    cases.map(([path]) => path),
  )
})
