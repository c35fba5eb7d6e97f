import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { hookCertificate } from '../../../tests/support/hook-certificates.ts'
import { startHttpsPeer } from '../../../tests/support/https-peer.ts'
import { FetchRefused } from './fetch-error.ts'
import { createGuardedFetch } from './guarded-fetch.ts'
import { checkPublicUrl } from './public-url.ts'

/** What must never be reached: a server on loopback, on a port that is allowed, with a certificate that holds. */
const bait = await startHttpsPeer((_request, response) => response.end('inside'), { name: '127.0.0.1', ...hookCertificate })
after(bait.stop)
const port = Number(new URL(bait.url).port)

const dns = await startDnsPeer({
  'public.hooks.test': { A: ['8.8.8.8'], AAAA: ['2606:4700::1111'] },
  'inside.hooks.test': { A: ['127.0.0.1'] },
  'inside6.hooks.test': { AAAA: ['::1'] },
  'mapped.hooks.test': { AAAA: ['::ffff:7f00:1'] },
  'both.hooks.test': { A: ['8.8.8.8', '127.0.0.1'] },
  'families.hooks.test': { A: ['8.8.8.8'], AAAA: ['::1'] },
  'zero.hooks.test': { A: ['0.0.0.0'] },
  'chain.hooks.test': { CNAME: 'link.hooks.test' },
  'link.hooks.test': { CNAME: 'inside.hooks.test' },
  'alias.hooks.test': { CNAME: 'localhost' },
  localhost: { A: ['127.0.0.1'] },
  'metadata.google.internal': { A: ['169.254.169.254'] },
  'instance-data.ec2.internal': { AAAA: ['fd00:ec2::254'] },
  'router.lan': { A: ['192.168.1.1'] },
})
after(dns.close)

const strict = createGuardedFetch({ dnsServers: [dns.address], ports: [443, 8443, port], isPrivateAllowed: false })
after(strict.close)

const notPublic = /is not a public address$/
const noAddress = /^is not a web address/

/** `:PORT` is the bait's, so that whatever gets through is counted. */
const forms: [address: string, problem: RegExp][] = [
  // IPv4, in every way that somebody's parser takes for it.
  ['https://127.0.0.1:PORT/', notPublic],
  ['https://127.0.0.1.:PORT/', notPublic],
  ['https://127.1:PORT/', notPublic],
  ['https://127.0.1:PORT/', notPublic],
  ['https://2130706433:PORT/', notPublic],
  ['https://017700000001:PORT/', notPublic],
  ['https://0177.0.0.1:PORT/', notPublic],
  ['https://0177.0.0.01:PORT/', notPublic],
  ['https://0x7f000001:PORT/', notPublic],
  ['https://0x7f.1:PORT/', notPublic],
  ['https://0x7F.0x0.0x0.0x1:PORT/', notPublic],
  ['https://127.255.255.254:PORT/', notPublic],
  ['https://0:PORT/', notPublic],
  ['https://0.0.0.0:PORT/', notPublic],
  ['https://0x:PORT/', notPublic],
  ['https://１２７.０.０.１:PORT/', notPublic],
  ['https://127。0。0。1:PORT/', notPublic],
  ['https://①②⑦.⓪.⓪.①:PORT/', notPublic],
  ['https://%31%32%37.0.0.1:PORT/', notPublic],
  ['https://127%2e0%2e0%2e1:PORT/', notPublic],
  ['https://127.0.0.1%00.example.com:PORT/', noAddress],
  ['https://256.0.0.1:PORT/', noAddress],
  ['https://127.0.0.0.1:PORT/', noAddress],
  // Networks of one's own, of providers, of nobody, and of everybody.
  ['https://10.0.0.5/', /^10\.0\.0\.5 is not a public address$/],
  ['https://172.16.0.1/', notPublic],
  ['https://172.31.255.255/', notPublic],
  ['https://192.168.0.1/', notPublic],
  ['https://169.254.169.254/latest/meta-data/', notPublic],
  ['https://2852039166/latest/meta-data/', notPublic],
  ['https://169.254.170.2/v2/credentials', notPublic],
  ['https://100.64.0.1/', notPublic],
  ['https://100.100.100.200/latest/meta-data/', notPublic],
  ['https://168.63.129.16/metadata', notPublic],
  ['https://192.0.0.192/opc/v2/', notPublic],
  ['https://192.0.2.1/', notPublic],
  ['https://198.18.0.1/', notPublic],
  ['https://224.0.0.1/', notPublic],
  ['https://240.0.0.1/', notPublic],
  ['https://255.255.255.255/', notPublic],
  // IPv6, and IPv4 within it.
  ['https://[::1]:PORT/', notPublic],
  ['https://[0:0:0:0:0:0:0:1]:PORT/', notPublic],
  ['https://[::]:PORT/', notPublic],
  ['https://[::ffff:127.0.0.1]:PORT/', notPublic],
  ['https://[::ffff:7f00:1]:PORT/', notPublic],
  ['https://[0:0:0:0:0:FFFF:7F00:0001]:PORT/', notPublic],
  ['https://[::127.0.0.1]:PORT/', notPublic],
  ['https://[::ffff:0:127.0.0.1]:PORT/', notPublic],
  ['https://[64:ff9b::127.0.0.1]:PORT/', notPublic],
  ['https://[64:ff9b:1::a00:5]/', notPublic],
  ['https://[2002:7f00:1::]:PORT/', notPublic],
  ['https://[2001:0:7f00:1::]/', notPublic],
  ['https://[fe80::1]:PORT/', notPublic],
  ['https://[fe80::1%25lo]:PORT/', noAddress],
  ['https://[fe80::1%lo]:PORT/', noAddress],
  ['https://[fc00::1]/', notPublic],
  ['https://[fd00:ec2::254]/latest/meta-data/', notPublic],
  ['https://[ff02::1]/', notPublic],
  ['https://[2001:db8::1]/', notPublic],
  ['https://[200::1]/', notPublic],
  ['https://[4000::1]/', notPublic],
  ['https://[8000::1]/', notPublic],
  ['https://[::ffff:169.254.169.254]/', notPublic],
  // Names of this machine, and names without a domain.
  ['https://localhost:PORT/', notPublic],
  ['https://LOCALHOST:PORT/', notPublic],
  ['https://localhost.:PORT/', notPublic],
  ['https://ⓛocalhost:PORT/', notPublic],
  ['https://lo%63alhost:PORT/', notPublic],
  ['https://app.localhost:PORT/', notPublic],
  ['https://app.localhost.:PORT/', notPublic],
  ['https://intranet/', notPublic],
  ['https://localhost..:PORT/', noAddress],
  ['https://a..example.com/', noAddress],
  // Names that lead inside.
  ['https://inside.hooks.test:PORT/', /^inside\.hooks\.test leads to 127\.0\.0\.1, which is not a public address$/],
  ['https://INSIDE.hooks.test.:PORT/', /leads to 127\.0\.0\.1, which/],
  ['https://inside6.hooks.test:PORT/', /leads to ::1, which/],
  ['https://mapped.hooks.test:PORT/', /leads to ::ffff:127\.0\.0\.1, which/],
  ['https://both.hooks.test:PORT/', /leads to 127\.0\.0\.1, which/],
  ['https://families.hooks.test:PORT/', /leads to ::1, which/],
  ['https://zero.hooks.test:PORT/', /leads to 0\.0\.0\.0, which/],
  ['https://chain.hooks.test:PORT/', /leads to 127\.0\.0\.1, which/],
  ['https://alias.hooks.test:PORT/', /leads to 127\.0\.0\.1, which/],
  ['https://metadata.google.internal/computeMetadata/v1/', /leads to 169\.254\.169\.254, which/],
  ['https://instance-data.ec2.internal/', /leads to fd00:ec2::254, which/],
  ['https://router.lan/', /leads to 192\.168\.1\.1, which/],
  // Who asks, where and how.
  ['https://user@127.0.0.1:PORT/', /^must not have a user name or a password/],
  ['https://user:password@public.hooks.test/', /^must not have a user name or a password/],
  ['https://public.hooks.test:443@127.0.0.1:PORT/', /^must not have a user name or a password/],
  ['https://public.hooks.test\\@127.0.0.1:PORT/', noAddress],
  ['https:\\\\127.0.0.1:PORT/', noAddress],
  ['https:127.0.0.1:PORT/', noAddress],
  ['https:///127.0.0.1:PORT/', notPublic],
  ['//127.0.0.1:PORT/', noAddress],
  ['127.0.0.1:PORT', noAddress],
  ['https://127.0.0.1\n:PORT/', noAddress],
  [' https://127.0.0.1:PORT/', noAddress],
  ['https://exam\tple.com/', noAddress],
  ['https://public.hooks.test:22/', /^names port 22; allowed is 443 or 8443 or \d+$/],
  ['https://public.hooks.test:25/', /^names port 25;/],
  ['https://public.hooks.test:80/', /^names port 80;/],
  ['https://public.hooks.test:6379/', /^names port 6379;/],
  ['https://public.hooks.test:0/', /^names port 0;/],
  ['https://public.hooks.test:65536/', noAddress],
  ['http://127.0.0.1:PORT/', /^must begin with https:\/\/$/],
  ['http://public.hooks.test/', /^must begin with https:\/\/$/],
  ['ftp://127.0.0.1:PORT/', /^must begin with https:\/\/$/],
  ['ws://127.0.0.1:PORT/', /^must begin with https:\/\/$/],
  ['gopher://127.0.0.1:PORT/_GET', /^must begin with https:\/\/$/],
  ['file:///etc/passwd', /^must begin with https:\/\/$/],
  ['data:text/plain,hello', noAddress],
  ['javascript:alert(1)', noAddress],
  ['', noAddress],
  [`https://public.hooks.test/${'x'.repeat(2_048)}`, /^is longer than 2048 characters$/],
]

const written = (address: string): string => address.replace('PORT', String(port))

test(`what is not public is refused: ${forms.length} forms`, async () => {
  for (const [form, problem] of forms) {
    const address = written(form)
    const isRefused = (error: unknown) => error instanceof FetchRefused && problem.test(error.message)
    await assert.rejects(strict(address), isRefused, `${address}: ${await strict(address).catch(String)}`)
    assert.match((await strict.problemOf(address)) ?? 'nothing', problem, address)
  }
  assert.equal(bait.connections, 0)
})

test('the bait would bite: where private addresses are allowed it is reached by the same forms', async (t) => {
  const open = createGuardedFetch({ dnsServers: [dns.address], ports: [443], isPrivateAllowed: true })
  t.after(open.close)
  for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '１２７.０.０.１', 'inside.hooks.test', 'chain.hooks.test'])
    assert.equal((await open(`https://${host}:${port}/${host.length}`)).body.toString(), 'inside', host)
  assert.equal(bait.asked.length, 6)
  for (const address of ['ftp://127.0.0.1/', 'https://user@127.0.0.1/', 'file:///etc/passwd'])
    await assert.rejects(open(address), FetchRefused)
})

test('a redirect is an answer, wherever it leads', async (t) => {
  const before = bait.connections
  const hop = await startHttpsPeer(
    (request, response) => {
      const [, status, at] = (request.url as string).split('/')
      response.writeHead(Number(status), { location: encodeURI(written((forms[Number(at)] as [string, RegExp])[0])) }).end()
    },
    { name: 'hop.hooks.test', ...hookCertificate },
  )
  t.after(hop.stop)
  dns.names['hop.hooks.test'] = { A: ['127.0.0.1'] }
  const { port: hopPort } = new URL(hop.url)
  const guarded = createGuardedFetch({ dnsServers: [dns.address], ports: [Number(hopPort)], isPrivateAllowed: false, isPublic: () => true })
  t.after(guarded.close)
  for (const at of forms.keys()) {
    const status = [301, 302, 303, 307, 308][at % 5]
    assert.equal((await guarded(`${hop.url}/${status}/${at}`, { method: 'POST', body: '{}' })).status, status)
  }
  assert.equal(hop.asked.length, forms.length)
  assert.equal(bait.connections, before)
})

test('a name that was public when it was given and leads inside later is refused when it is called', async () => {
  const before = bait.connections
  dns.names['rebinding.hooks.test'] = { A: ['8.8.8.8'] }
  const address = `https://rebinding.hooks.test:${port}/`
  assert.equal(await strict.problemOf(address), null)
  dns.names['rebinding.hooks.test'] = { A: ['127.0.0.1'] }
  await assert.rejects(strict(address), /leads to 127\.0\.0\.1/)
  assert.equal(bait.connections, before)
})

test('a name that changes with every question is asked once for a connection, which goes where that answer led', async (t) => {
  const addresses = ['127.0.0.1', '10.0.0.5']
  const changing = {
    get A() {
      addresses.push(addresses.shift() as string)
      return [addresses.at(-1) as string]
    },
  }
  dns.names['changing.hooks.test'] = changing
  const isPublic = (ip: string) => ip === '127.0.0.1'
  const guarded = createGuardedFetch({ dnsServers: [dns.address], ports: [port], isPrivateAllowed: false, isPublic })
  t.after(guarded.close)
  const address = `https://changing.hooks.test:${port}/`
  const [before, connections] = [dns.asked.length, bait.connections]
  assert.equal((await guarded(address, { isOnce: true })).status, 200)
  assert.deepEqual(dns.asked.slice(before).toSorted(), ['A changing.hooks.test', 'AAAA changing.hooks.test'])
  await assert.rejects(guarded(address, { isOnce: true }), /leads to 10\.0\.0\.5/)
  assert.equal(bait.connections, connections + 1)
})

test('the form alone is judged without a look-up', () => {
  const before = dns.asked.length
  const rules = { ports: [443], isPrivateAllowed: false, isPublic: () => true }
  for (const good of ['https://hooks.example.com/a?b=c#d', 'https://bücher.example/', 'https://8.8.8.8/', 'https://hooks.example.com:443/'])
    assert.equal(checkPublicUrl(good, rules), null, good)
  assert.equal(checkPublicUrl('https://hooks.example.com:8443/', rules), 'names port 8443; allowed is 443')
  assert.equal(dns.asked.length, before)
})

test('a name without an address and a name server that fails are told apart', async () => {
  dns.names['failing.hooks.test'] = { fails: 'SERVFAIL' }
  dns.names['empty.hooks.test'] = { TXT: ['nothing else'] }
  const about = (name: string) => strict.problemOf(`https://${name}/`)
  assert.equal(await about('nowhere.hooks.test'), 'the name nowhere.hooks.test does not resolve: the DNS has no address for it')
  assert.equal(await about('empty.hooks.test'), 'the name empty.hooks.test does not resolve: the DNS has no address for it')
  assert.match((await about('failing.hooks.test')) ?? '', /^the name failing\.hooks\.test could not be looked up/)
  assert.equal(await about('public.hooks.test'), null)
})
