import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { hookCertificate } from '../../../tests/support/hook-certificates.ts'
import { startHttpsPeer } from '../../../tests/support/https-peer.ts'
import { createConnections } from './connections.ts'
import { exchange } from './exchange.ts'
import { FetchRefused } from './fetch-error.ts'
import { createGuardedFetch, type GuardSettings } from './guarded-fetch.ts'

const dns = await startDnsPeer({ 'hooks.test': { A: ['127.0.0.1'] }, 'xn--bcher-kva.test': { A: ['127.0.0.1'] } })
after(dns.close)

type Answer = (request: IncomingMessage, response: ServerResponse) => void

async function world(t: TestContext, answer: Answer, settings: Partial<GuardSettings> = {}) {
  const peer = await startHttpsPeer(answer, { name: 'hooks.test', ...hookCertificate })
  t.after(peer.stop)
  const port = Number(new URL(peer.url).port)
  const usual = { dnsServers: [dns.address], ports: [port], isPrivateAllowed: false, isPublic: () => true }
  const guardedFetch = createGuardedFetch({ ...usual, ...settings })
  t.after(guardedFetch.close)
  dns.asked.length = 0
  return { peer, port, guardedFetch }
}

const hello: Answer = (_request, response) => response.end('hello')

test('a connection is used again, and its name is not looked up for that', async (t) => {
  const { peer, guardedFetch } = await world(t, hello)
  for (let at = 0; at < 5; at++) assert.equal((await guardedFetch(peer.url, { method: 'POST', body: String(at) })).status, 200)
  assert.deepEqual([peer.asked.length, peer.connections, dns.asked.length], [5, 1, 2])
})

test('one that is too old is not: the name is looked up, and may lead elsewhere', async (t) => {
  const open = new Set(['127.0.0.1'])
  const { peer, guardedFetch } = await world(t, hello, { keptMs: 0, isPublic: (ip) => open.has(ip) })
  await guardedFetch(peer.url)
  await guardedFetch(peer.url)
  assert.deepEqual([peer.connections, dns.asked.length], [2, 4])
  open.clear()
  await assert.rejects(guardedFetch(peer.url), FetchRefused)
  assert.equal(peer.connections, 2)
})

test('where nothing more will be asked, none is kept', async (t) => {
  const { peer, guardedFetch } = await world(t, hello)
  for (let at = 0; at < 2; at++) await guardedFetch(peer.url, { isOnce: true })
  assert.equal(peer.connections, 2)
})

test('a kept connection that the server has closed meanwhile is not the end: the request goes out on a new one', async (t) => {
  const used = new WeakSet<object>()
  const { peer, guardedFetch } = await world(t, (request, response) => {
    if (used.has(request.socket)) request.socket.destroy()
    else response.end('hello')
    used.add(request.socket)
  })
  assert.equal((await guardedFetch(peer.url, { method: 'POST', body: 'one' })).status, 200)
  assert.equal((await guardedFetch(peer.url, { method: 'POST', body: 'two' })).status, 200)
  assert.deepEqual([peer.asked.length, peer.connections], [3, 2])
})

test('on a new connection the request is not made twice', async (t) => {
  const { peer, guardedFetch } = await world(t, (request) => request.socket.destroy())
  await assert.rejects(guardedFetch(peer.url, { method: 'POST', body: 'one' }), /^FetchFailed: hooks\.test closed the connection/)
  assert.equal(peer.asked.length, 1)
})

test('a literal address, for which nothing is looked up, is held against the rules by the connection as well', async (t) => {
  const { peer, port } = await world(t, hello)
  const rules = { ports: [port], isPrivateAllowed: false, isPublic: (ip: string) => ip === '8.8.8.8' }
  const connections = createConnections(async () => assert.fail('nothing to look up'), rules, 60_000)
  t.after(connections.close)
  const order = { method: 'GET', headers: {}, body: undefined, maxBytes: 10, signal: AbortSignal.timeout(60_000) }
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:7f00:1]']) {
    const url = new URL(`https://${host}:${port}/`)
    for (const agent of Object.values(connections.for(url))) await assert.rejects(exchange(url, { ...order, agent }), FetchRefused, host)
  }
  assert.equal(peer.connections, 0)
})

test('many at once each have their answer', async (t) => {
  const { peer, guardedFetch } = await world(t, (request, response) => response.end(request.url))
  const paths = Array.from({ length: 40 }, (_, at) => `/${at}`)
  const bodies = await Promise.all(paths.map(async (path) => (await guardedFetch(peer.url + path, { timeoutMs: 60_000 })).body.toString()))
  assert.deepEqual(bodies, paths)
})

test('the name goes to the server as the DNS writes it, in TLS and in the request, whatever the caller says of it', async (t) => {
  const seen: unknown[] = []
  const { port, guardedFetch } = await world(t, (request, response) => {
    const { host, 'content-length': length, 'accept-encoding': encoding, 'x-own': own } = request.headers
    seen.push([(request.socket as TLSSocket).servername, host, request.method, request.url, length, encoding, own])
    response.end()
  })
  const headers = { host: 'other.test', 'Content-Length': '999', 'accept-encoding': 'gzip', 'X-Own': 'yes' }
  const request = { method: 'POST', body: 'Grüße', headers } as const
  await guardedFetch(`https://B%C3%BCcher.test:${port}/a?b=c#d`, request)
  await guardedFetch(`https://hooks.test.:${port}/`, request)
  await guardedFetch(`https://127.0.0.1:${port}/`)
  assert.deepEqual(seen, [
    ['xn--bcher-kva.test', `xn--bcher-kva.test:${port}`, 'POST', '/a?b=c', '7', 'identity', 'yes'],
    ['hooks.test', `hooks.test:${port}`, 'POST', '/', '7', 'identity', 'yes'],
    [false, `127.0.0.1:${port}`, 'GET', '/', undefined, 'identity', undefined],
  ])
})

async function startPlain(t: TestContext, answer: Answer) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  server.on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`)
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, asked }
}

test('for development: without TLS, on any port, at names of this machine', async (t) => {
  const { port } = await startPlain(t, hello)
  const { guardedFetch } = await world(t, hello, { isPrivateAllowed: true, isPublic: () => false })
  for (const host of ['127.0.0.1', 'localhost', 'hooks.test']) {
    assert.equal(await guardedFetch.problemOf(`http://${host}:${port}/`), null, host)
    assert.equal((await guardedFetch(`http://${host}:${port}/`)).body.toString(), 'hello', host)
  }
})

/** What a process prints that runs this piece of a program; its environment names a proxy for everything, and the test's authority. */
async function printedBy(t: TestContext, program: string, proxyPort: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'guarded-fetch-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, hookCertificate.cert)
  const proxy = `http://127.0.0.1:${proxyPort}`
  const env = { PATH: process.env.PATH, NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxy, HTTP_PROXY: proxy, ALL_PROXY: proxy }
  const given = { env: { ...env, NODE_EXTRA_CA_CERTS: authority } }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], given)
  return stdout.trim()
}

test('a proxy of the environment is not asked, and an authority of the environment is trusted', async (t) => {
  const proxy = await startPlain(t, hello)
  const { peer, port } = await world(t, hello)
  const settings = JSON.stringify({ dnsServers: [dns.address], ports: [port], isPrivateAllowed: true })
  const guarded = `import { createGuardedFetch } from '${import.meta.dirname}/index.ts'
    const { status } = await createGuardedFetch(${settings})('${peer.url}/')
    console.log(status)`
  assert.equal(await printedBy(t, guarded, proxy.port), '200')
  assert.deepEqual(proxy.asked, [])
  // The same environment sends what is not guarded to the proxy.
  await printedBy(t, `await fetch('${peer.url}/').catch(() => {})`, proxy.port)
  assert.deepEqual(proxy.asked, [`CONNECT hooks.test:${port}`])
})
