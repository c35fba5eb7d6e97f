import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { type DnsPeer, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { hookCertificate } from '../../../tests/support/hook-certificates.ts'
import { type HttpsPeer, startHttpsPeer } from '../../../tests/support/https-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { createGuardedFetch } from '../../base/guarded-fetch/index.ts'
import { createMetadataFetch } from './metadata-fetch.ts'

const patiently = () => ({ signal: AbortSignal.timeout(60_000) })

interface World {
  dns: DnsPeer
  peer?: HttpsPeer
  isPublic?: (ip: string) => boolean
}

function readerFor(t: TestContext, { dns, peer, ...others }: World) {
  const ports = peer ? [Number(new URL(peer.url).port)] : [443]
  const guardedFetch = createGuardedFetch({ dnsServers: [dns.address], ports, isPrivateAllowed: false, ...others })
  t.after(guardedFetch.close)
  return createMetadataFetch(guardedFetch)
}

/** A site that this machine may be asked for, by a name that only the test's DNS server knows. */
async function site(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const peer = await startHttpsPeer(answer, { name: 'hooks.test', ...hookCertificate })
  t.after(peer.stop)
  const dns = await startDnsPeer({ 'hooks.test': { A: ['127.0.0.1'] } })
  t.after(dns.close)
  return { peer, dns, read: readerFor(t, { dns, peer, isPublic: () => true }) }
}

test('a name is looked up once, and the connection goes where the answer led', async (t) => {
  const { peer, dns, read } = await site(t, (_request, response) => response.setHeader('cache-control', 'max-age=9').end('{}'))
  const response = await read(`${peer.url}/app`, patiently())
  assert.deepEqual([response.status, await response.text(), response.headers.get('cache-control')], [200, '{}', 'max-age=9'])
  assert.deepEqual(dns.asked.toSorted(), ['A hooks.test', 'AAAA hooks.test'])
  assert.deepEqual(peer.asked, ['/app'])
})

test('a name that leads inside, if only with one of its addresses, is not asked', async (t) => {
  const peer = await startHttpsPeer((_request, response) => response.end('{}'))
  t.after(peer.stop)
  const dns = await startDnsPeer({ 'inside.test': { A: ['127.0.0.1'] }, 'both.test': { A: ['8.8.8.8', '127.0.0.1'] } })
  t.after(dns.close)
  const read = readerFor(t, { dns, peer })
  const { port } = new URL(peer.url)
  for (const host of ['inside.test', 'both.test', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]'])
    await assert.rejects(read(`https://${host}:${port}/app`, patiently()), /is not a public address/, host)
  assert.deepEqual(peer.asked, [])
})

test('a name server that is silent does not hold anybody up, and its name is not asked for again at once', async (t) => {
  const dns = await startDnsPeer({ 'silent.test': { fails: 'silence' }, 'mute.test': { fails: 'silence' } })
  t.after(dns.close)
  const read = readerFor(t, { dns })
  await assert.rejects(read('https://silent.test/app', { signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' })
  await assert.rejects(read('https://mute.test/app'), { name: 'TimeoutError' })
  const asked = dns.asked.length
  await assert.rejects(read('https://silent.test/app'), { name: 'TimeoutError' })
  await assert.rejects(read('https://mute.test/app'), { name: 'TimeoutError' })
  assert.equal(dns.asked.length, asked)
})

test('four are read at once; a fifth waits, and is not blamed when its time runs out', async (t) => {
  const held: ServerResponse[] = []
  const { peer, read } = await site(t, (_request, response) => void held.push(response))
  const first = [1, 2, 3, 4].map((at) => read(`${peer.url}/${at}`, patiently()))
  await until('four are asked', () => held.length === 4)
  await assert.rejects(read(`${peer.url}/5`, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
  const fifth = read(`${peer.url}/5`, patiently())
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
    ['/cut', /closed the connection before its answer was complete/],
    ['/slow', /aborted/],
  ]
  for (const [path, problem] of cases)
    for (let times = 0; times < 2; times++)
      await assert.rejects(read(peer.url + path, { signal: AbortSignal.timeout(path === '/slow' ? 300 : 60_000) }), problem, path)
  assert.deepEqual(
    peer.asked,
    cases.map(([path]) => path),
  )
})
