import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isIssued, order, rowOf, startDriven } from '../../../tests/support/certificates.ts'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { createDns } from '../../dns/index.ts'
import { caaProblem } from './check-caa.ts'
import { checkCertificate, findCertificate } from './index.ts'

const ours = ['letsencrypt.org', 'le.example']
const cases: { what: string; zone: Record<string, string[] | 'SERVFAIL'>; says: RegExp | null }[] = [
  { what: 'no record anywhere', zone: {}, says: null },
  { what: 'ours', zone: { 'www.shop.example': ['0 issue letsencrypt.org'] }, says: null },
  { what: 'ours by another of its names', zone: { 'www.shop.example': ['0 issue le.example'] }, says: null },
  { what: 'ours among others', zone: { 'www.shop.example': ['0 issue digicert.com', '0 issue letsencrypt.org'] }, says: null },
  { what: 'ours with parameters', zone: { 'www.shop.example': ['0 issue letsencrypt.org; accounturi=https://x/1'] }, says: null },
  { what: 'capitals', zone: { 'www.shop.example': ['0 ISSUE LetsEncrypt.org'] }, says: null },
  {
    what: 'another',
    zone: { 'www.shop.example': ['0 issue digicert.com'] },
    says: /^The CAA record “0 issue "digicert\.com"” at www\.shop\.example does not let letsencrypt\.org issue a certificate\. Add a CAA record at www\.shop\.example: 0 issue "letsencrypt\.org"\.$/,
  },
  { what: 'bytes that nobody can keep', zone: { 'www.shop.example': ['0 issue x\0y'] }, says: /^The CAA record “0 issue "x y"” at/ },
  { what: 'such bytes in a tag', zone: { 'www.shop.example': ['128 t\0g x'] }, says: /^The CAA record “128 t g "x"” at/ },
  {
    what: 'very many',
    zone: { 'www.shop.example': Array.from({ length: 200 }, (_, number) => `0 issue ca${number}.example`) },
    says: /^The CAA record “0 issue "ca0\.example"”, “0 issue "ca1\.example"”, “0 issue "ca2\.example"” and 197 more at/,
  },
  { what: 'nobody', zone: { 'www.shop.example': ['0 issue ;'] }, says: /“0 issue ";"”/ },
  { what: 'another above', zone: { 'shop.example': ['0 issue digicert.com'] }, says: / at shop\.example / },
  {
    what: 'the nearest counts',
    zone: { 'www.shop.example': ['0 issue letsencrypt.org'], 'shop.example': ['0 issue digicert.com'] },
    says: null,
  },
  {
    what: 'the nearest forbids',
    zone: { 'www.shop.example': ['0 issue ;'], 'shop.example': ['0 issue letsencrypt.org'] },
    says: /www\.shop/,
  },
  { what: 'wildcards only', zone: { 'www.shop.example': ['0 issuewild ;'] }, says: null },
  { what: 'reports only', zone: { 'www.shop.example': ['0 iodef mailto:a@b.example'] }, says: null },
  { what: 'an unknown one that matters', zone: { 'www.shop.example': ['128 tbs Unknown'] }, says: /nobody knows what it means/ },
  { what: 'an unknown one that does not', zone: { 'www.shop.example': ['0 tbs Unknown'] }, says: null },
  { what: 'DNS in trouble', zone: { 'www.shop.example': 'SERVFAIL', 'shop.example': ['0 issue digicert.com'] }, says: null },
]

test('CAA records are read as RFC 8659 says', async () => {
  const peer = await startDnsPeer({})
  const dns = createDns({ servers: [peer.address] })
  for (const { what, zone, says } of cases) {
    peer.names = { 'shop.example': {}, 'www.shop.example': {}, example: {} }
    for (const [name, records] of Object.entries(zone)) peer.names[name] = records === 'SERVFAIL' ? { fails: 'SERVFAIL' } : { CAA: records }
    const problem = await caaProblem(dns, 'www.shop.example', ours)
    if (says === null) assert.equal(problem, null, what)
    else assert.match(problem ?? '', says, what)
  }
  peer.names = { 'www.shop.example': { CAA: ['0 issue digicert.com'] } }
  assert.equal(await caaProblem(dns, 'www.shop.example', []), null, 'an authority that has no name in such records')
  dns.close()
  await peer.close()
})

test('a host whose records forbid our authority is not ordered for; the owner is told which record', async () => {
  const { app, acme, dns, target, node, drive } = await startDriven()
  acme.settings.caaIdentities = ours
  const project = await app.newProject()
  const host = 'news.shop.example'
  dns.names[host] = { A: ['127.0.0.1'] }
  dns.names['shop.example'] = { CAA: ['0 issue digicert.com'] }
  const key = { project_id: project.id, host }
  await order(app, { ...key, target, challenges: ['http-01', 'dns-01'] })
  await node().step()
  const view = await findCertificate(app.services.database, key)
  assert.equal(view?.status, 'waiting')
  assert.match(view?.problem ?? '', /^The CAA record “0 issue "digicert\.com"” at shop\.example/)
  assert.deepEqual([acme.orders.length, (await rowOf(app, host)).failures], [0, 0])
  dns.names['shop.example'] = { CAA: ['0 issue digicert.com', '0 issue letsencrypt.org'] }
  await app.services.database.transaction((tx) => checkCertificate(tx, key))
  await drive(host, isIssued)
})
