import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Outcome, posthaste, temporaryFolder } from '../../tests/support/command-line.ts'
import { type DnsName, startDnsPeer } from '../../tests/support/dns-peer.ts'
import { createEmptyDatabase, urlOf } from '../../tests/support/empty-database.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import { startSmtpPeer } from '../../tests/support/smtp-peer.ts'
import type { Check } from './doctor-check.ts'
import { checkClock, checkNode } from './doctor-machine.ts'

const app = await startApp({ ROLES: 'http' })
const folder = temporaryFolder()
const free = { PORT: '0', SMTP_PORT: '0', DATA_DIR: folder }
const ofApp = { ...free, DATABASE_URL: urlOf(app.connection), SECRET_KEY: String(app.config.SECRET_KEY) }

const statesOf = ({ stdout }: Outcome): Record<string, string> =>
  Object.fromEntries((JSON.parse(stdout) as Check[]).map(({ name, state }) => [name, state]))
const seenIn = ({ stdout }: Outcome, name: string): string =>
  (JSON.parse(stdout) as Check[]).find((check) => check.name === name)?.seen ?? ''

async function startDns(names: Record<string, DnsName>): Promise<string> {
  const peer = await startDnsPeer(names)
  after(peer.close)
  return peer.address
}
const mx: DnsName = { MX: [[10, 'mx.news.example.org']] }

test('all is well: one line each, and 0', async () => {
  const peer = await startSmtpPeer()
  after(peer.close)
  const env = {
    ...ofApp,
    PORT: String(app.config.PORT),
    HOST: '127.0.0.1',
    OUTBOUND: `smtp://127.0.0.1:${peer.port}`,
    MAIL_DOMAIN: 'news.example.org',
    MX_HOST: 'mx.news.example.org',
    PUBLIC_URL: 'https://news.example.org',
    SITE_TARGET: 'sites.example',
    SIGN_UPS: 'invited',
    AGENT_SIGN_UPS: 'off',
  }
  const records = await posthaste(['dkim'], env)
  const [selector = '', key = ''] = records.stdout.trim().split('. TXT ')
  const spf = 'v=spf1 ip4:192.0.2.1 -all'
  const names: Record<string, DnsName> = {
    'news.example.org': { ...mx, TXT: [spf] },
    'rp.news.example.org': { ...mx, TXT: [spf] },
    '_dmarc.news.example.org': { TXT: ['v=DMARC1; p=none;'] },
    [selector]: { TXT: [key.replace(/^"|"$|" "/g, '')] },
  }
  const outcome = await posthaste(['doctor'], { ...env, DNS_SERVERS: await startDns(names) })
  assert.equal(outcome.code, 0, outcome.stdout + outcome.stderr)
  const lines = outcome.stdout.trimEnd().split('\n')
  assert.ok(
    lines.every((line) => line.startsWith('✓ ')),
    outcome.stdout,
  )
  assert.match(outcome.stdout, /^✓ database +PostgreSQL \d+/m)
  assert.match(outcome.stdout, /^✓ migrations +up to date \(\d+\)$/m)
  assert.match(outcome.stdout, /^✓ secret key +from SECRET_KEY, the one of this database$/m)
  assert.match(outcome.stdout, /^✓ jobs +none failed in the last 7 days$/m)
  assert.match(outcome.stdout, /^✓ inbound mail +none waits to be filed$/m)
  assert.match(outcome.stdout, /^✓ raw messages +all of them are in the database$/m)
  assert.match(outcome.stdout, /^✓ addresses +lists and mailboxes are at news\.example\.org, or at verified senders$/m)
  assert.match(outcome.stdout, /^✓ dkim +the key that signs mail of news\.example\.org is in DNS$/m)
  assert.match(outcome.stdout, /^✓ spf +news\.example\.org has one SPF record$/m)
  assert.match(outcome.stdout, /^✓ dmarc +news\.example\.org has a DMARC policy$/m)
  assert.match(outcome.stdout, /^✓ mail settings +links and addresses can be reached by readers$/m)
  assert.match(outcome.stdout, /^✓ sign-ups +strangers cannot send mail from here$/m)
  assert.match(outcome.stdout, /^✓ clock +20\S+Z, -?0\.\d s from the database’s$/m)
  assert.match(outcome.stdout, /^✓ http port +\d+ is a running Posthaste, ready$/m)
  assert.match(outcome.stdout, /^✓ dns +news\.example\.org has MX 10 mx\.news\.example\.org \(127\.0\.0\.1:\d+\)$/m)
  assert.match(outcome.stdout, /^✓ return path +rp\.news\.example\.org has its MX and one SPF record$/m)
  assert.match(outcome.stdout, /^✓ site target +sites\.\S+ is a name for trials, and not looked up$/m)
  assert.match(outcome.stdout, /^✓ outbound mail +the relay 127\.0\.0\.1:\d+ takes mail$/m)
})

test('what is wrong is named, with what to do, and 1', async () => {
  const stranger = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(stranger, 'listening')
  after(() => stranger.close())
  const port = String((stranger.address() as AddressInfo).port)
  const env = { ...ofApp, HOST: '127.0.0.1', PORT: port, SMTP_PORT: port, SECRET_KEY: 'some other key, which is long enough too' }
  const outcome = await posthaste(['doctor', '--json'], {
    ...env,
    OUTBOUND: 'smtp://127.0.0.1:1',
    MAIL_DOMAIN: 'news.example.org',
    SITE_TARGET: 'sites.example.org',
    DNS_SERVERS: await startDns({}),
  })
  assert.equal(outcome.code, 1)
  assert.deepEqual(statesOf(outcome), {
    node: 'good',
    configuration: 'good',
    'data folder': 'good',
    database: 'good',
    migrations: 'good',
    'secret key': 'bad',
    jobs: 'good',
    'inbound mail': 'good',
    'raw messages': 'good',
    addresses: 'good',
    dkim: 'warning',
    spf: 'warning',
    dmarc: 'warning',
    clock: 'good',
    'mail settings': 'bad',
    'sign-ups': 'good',
    'http port': 'bad',
    'smtp port': 'warning',
    dns: 'warning',
    'return path': 'warning',
    'site target': 'warning',
    'outbound mail': 'bad',
  })
  assert.match(seenIn(outcome, 'http port'), /in use by another program/)
  assert.match(seenIn(outcome, 'dns'), /news\.example\.org has no MX record/)
  assert.match(seenIn(outcome, 'dkim'), /^There is no domain news\.example\.org in DNS/)
  assert.match(seenIn(outcome, 'spf'), /^news\.example\.org has no SPF record\.$/)
  assert.equal(seenIn(outcome, 'mail settings'), `links in mail lead to http://localhost:${port}, which only this machine can open`)
  assert.equal(seenIn(outcome, 'return path'), 'rp.news.example.org has no MX record')
  assert.equal(seenIn(outcome, 'site target'), 'sites.example.org has no address')
})

test('no database yet is no fault, and looking makes none', async () => {
  const dataDir = join(folder, 'fresh')
  const outcome = await posthaste(['doctor', '--json'], { ...free, DATA_DIR: dataDir })
  assert.equal(outcome.code, 0)
  assert.equal(statesOf(outcome).database, 'warning')
  assert.equal(statesOf(outcome)['outbound mail'], 'warning')
  assert.deepEqual(readdirSync(folder), [])
})

test('a database without schema is told; one that cannot be reached is bad; so is a bad setting', async () => {
  const empty = await createEmptyDatabase()
  after(empty.drop)
  const [bare, none, setting] = await Promise.all([
    posthaste(['doctor', '--json'], { ...free, DATABASE_URL: urlOf(empty.connection) }),
    posthaste(['doctor', '--json'], { ...free, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }),
    posthaste(['doctor', '--json'], { ...free, ROLES: 'everything' }),
  ])
  assert.deepEqual([bare.code, statesOf(bare).migrations, statesOf(bare)['secret key']], [0, 'warning', undefined])
  assert.deepEqual([none.code, statesOf(none).database], [1, 'bad'])
  assert.match(seenIn(none, 'database'), /cannot be reached: .*ECONNREFUSED.*Check DATABASE_URL/)
  assert.deepEqual([setting.code, statesOf(setting)], [1, { node: 'good', configuration: 'bad' }])
})

test('a secret key that is missing or is not the database’s', async () => {
  const { SECRET_KEY: _, ...env } = ofApp
  const dataDir = join(folder, 'keyless')
  mkdirSync(dataDir)
  const missing = await posthaste(['doctor', '--json'], { ...env, DATA_DIR: dataDir })
  assert.match(seenIn(missing, 'secret key'), /secret\.key is missing$/)
  writeFileSync(join(dataDir, 'secret.key'), 'another key, of more than 32 characters\n')
  const other = await posthaste(['doctor', '--json'], { ...env, DATA_DIR: dataDir })
  assert.match(seenIn(other, 'secret key'), /secret\.key is not the key of this database$/)
  for (const outcome of [missing, other]) assert.deepEqual([outcome.code, statesOf(outcome)['secret key']], [1, 'bad'])
})

test('jobs that failed for good are counted and named, for a week', async () => {
  const fail = async (name: string, ago: string) => {
    await app.services.database.execute(`insert into jobs.job (name, state, completed_on) values ($1, 'failed', now() - $2::interval)`, [
      name,
      ago,
    ])
  }
  await fail('lists.purge', '1 hour')
  await fail('lists.purge', '6 days')
  await fail('clean_up', '1 day')
  await fail('clean_up', '8 days')
  const outcome = await posthaste(['doctor', '--json'], ofApp)
  assert.deepEqual([outcome.code, statesOf(outcome).jobs], [0, 'warning'])
  assert.equal(seenIn(outcome, 'jobs'), 'failed in the last 7 days: clean_up (1), lists.purge (2)')
})

test('a running Posthaste is known by its greeting; another server, or one that says nothing, may be it or not', async () => {
  const inbound = await startApp({ ROLES: 'http,inbound', MAIL_DOMAIN: 'greets.example.org' })
  const other = await startSmtpPeer()
  after(other.close)
  const look = async (port: number, MAIL_DOMAIN = 'greets.example.org') => {
    const env = { ...ofApp, SMTP_HOST: '127.0.0.1', SMTP_PORT: String(port), MAIL_DOMAIN, DNS_SERVERS: '127.0.0.1:1' }
    const outcome = await posthaste(['doctor', '--json'], env)
    return [statesOf(outcome)['smtp port'], seenIn(outcome, 'smtp port')]
  }
  const ours = `${inbound.smtpPort} is a running Posthaste, which greets as greets.example.org`
  assert.deepEqual(await look(inbound.smtpPort), ['good', ours])
  assert.deepEqual(await look(inbound.smtpPort, 'another.example.org'), ['warning', `${inbound.smtpPort} is in use`])
  assert.deepEqual(await look(other.port), ['warning', `${other.port} is in use`])
  await inbound.stop()
})

test('old programs and clocks that are off', () => {
  assert.deepEqual(
    ['22.17.1', '20.1.0', '22.18.0', '24.0.0'].map((version) => checkNode(version).state),
    ['bad', 'bad', 'good', 'good'],
  )
  const now = new Date('2026-11-15T09:00:00Z')
  assert.deepEqual(
    [null, 4_900, -5_100].map((skewMs) => checkClock(skewMs, now).state),
    ['good', 'good', 'warning'],
  )
  assert.equal(checkClock(0, new Date('1970-01-02T00:00:00Z')).state, 'bad')
})

test('mail that cannot be filed, or that nobody files, is told of', async () => {
  const { database } = app.services
  const seen = async () => seenIn(await posthaste(['doctor', '--json'], ofApp), 'inbound mail')
  await database.run`
    insert into inbound_spool (id, received_at, peer, envelope_from, recipients, raw, attempts, next_attempt_at)
    values ('01a1df19-f752-7000-85a8-439172713bcc', now(), '{}', '', '{}', '', 0, now() - interval '10 minutes')`
  assert.equal(await seen(), '1 in the spool for more than five minutes')
  await database.run`update inbound_spool set attempts = 5, next_attempt_at = now() + interval '1 day'`
  assert.equal(await seen(), '1 could not be filed, such as 01a1df19-f752-7000-85a8-439172713bcc')
  await database.run`update inbound_spool set attempts = 1, problem = 'ENOSPC: no space left on device'`
  assert.equal(await seen(), '1 could not be filed, such as 01a1df19-f752-7000-85a8-439172713bcc: ENOSPC: no space left on device')
  await database.run`delete from inbound_spool`
})

test('with HTTPS_PORT it looks at the port, and at certificates that are late', async () => {
  const env = { ...ofApp, HTTPS_PORT: '0' }
  const before = await posthaste(['doctor', '--json'], env)
  assert.deepEqual([statesOf(before)['https port'], statesOf(before).certificates], ['good', 'good'])
  assert.equal(seenIn(before, 'certificates'), '0 issued')
  await app.services.database.run`
    insert into certificates (host, challenges, step_since, due_at, created_at, problem)
    values ('late.example.com', array['http-01'], now(), now() + interval '1 hour', now() - interval '2 days', 'late.example.com has no address in DNS yet.'),
      ('young.example.com', array['http-01'], now(), now() + interval '1 hour', now(), null)`
  const after = await posthaste(['doctor', '--json'], env)
  assert.equal(statesOf(after).certificates, 'warning')
  assert.equal(
    seenIn(after, 'certificates'),
    '0 issued; late.example.com has none after a day (late.example.com has no address in DNS yet.)',
  )
  await app.services.database.run`delete from certificates`
})

test('records of MAIL_DOMAIN that are not as they should be, and doors that are open, are told with what to do', async () => {
  const env = { ...ofApp, OUTBOUND: 'smtp://127.0.0.1:1', PUBLIC_URL: 'https://mail.example.org', SITE_TARGET: 'sites.example' }
  const names = {
    'mail.example.org': { TXT: ['v=spf1 -all', 'v=spf1 mx -all'] },
    '_dmarc.mail.example.org': { TXT: ['v=DMARC1; p=maybe'] },
  }
  const DNS_SERVERS = await startDns(names)
  const look = async (more: Record<string, string> = {}) => {
    const { stdout } = await posthaste(['doctor', '--json'], { ...env, DNS_SERVERS, ...more })
    return (name: string) => (JSON.parse(stdout) as Check[]).find((check) => check.name === name)
  }
  const before = await look()
  assert.equal(before('dkim')?.seen, 'mail.example.org has no key yet: the next start makes one')
  assert.equal(before('spf')?.seen, 'mail.example.org has 2 SPF records, and receivers count none.')
  assert.match(before('dmarc')?.seen ?? '', /^TXT _dmarc\.mail\.example\.org says p=“maybe”/)
  assert.equal(before('dmarc')?.next, 'Add TXT _dmarc.mail.example.org with v=DMARC1; p=none;')
  assert.equal(
    before('sign-ups')?.seen,
    'strangers may register agents (AGENT_SIGN_UPS), and make accounts (SIGN_UPS), and send mail in the name of mail.example.org',
  )
  await posthaste(['dkim'], env)
  const after = await look()
  assert.deepEqual(
    [after('dkim')?.state, after('dkim')?.next],
    ['warning', 'Run "posthaste dkim", and put the records that it shows into DNS.'],
  )
  assert.match(after('dkim')?.seen ?? '', /^TXT \S+\._domainkey\.mail\.example\.org is not there yet\.$/)
  const ses = await look({ OUTBOUND: 'ses://KEY:SECRET@eu-west-1' })
  assert.deepEqual([ses('dkim'), ses('spf')?.state], [undefined, 'warning'], 'Amazon signs')
})
