import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Answer } from '../../dns/index.ts'
import type { Answers, Finding } from '../dns-records/index.ts'
import { diagnose } from './diagnose.ts'
import { recordsFor } from './records.ts'
import { policyNames } from './survey.ts'

const domain = 'example.com'
const rsa = `MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A${'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(9)}IDAQAB`
const keys = [
  {
    id: 'rsa',
    algorithm: 'rsa-sha256',
    status: 'pending',
    created_at: new Date(),
    name: `k1._domainkey.${domain}`,
    value: `v=DKIM1; k=rsa; p=${rsa}`,
  },
  {
    id: 'ed',
    algorithm: 'ed25519-sha256',
    status: 'pending',
    created_at: new Date(),
    name: `k2._domainkey.${domain}`,
    value: `v=DKIM1; k=ed25519; p=${'B'.repeat(43)}=`,
  },
] as const
const wanted = recordsFor({ MAIL_DOMAIN: 'mail.test', MX_HOST: 'mx.mail.test' }, { domain, keys: [...keys], receives: true })
const hosts = { mx: 'mx.mail.test', target: 'rp.mail.test' }

const is = (...found: string[]): Answer => ({ found, ttl: 3_600, aliases: [] })
const none: Answer = { missing: 'nodata' }
const dark: Answer = { trouble: 'the name server answered SERVFAIL for it' }

/** All as it should be. */
const right: Answers = {
  'TXT example.com': none,
  'TXT k1._domainkey.example.com': is(keys[0].value),
  'TXT k2._domainkey.example.com': is(keys[1].value),
  'CNAME bounce.example.com': is('rp.mail.test'),
  'MX bounce.example.com': is('10 mx.mail.test'),
  'TXT bounce.example.com': is('v=spf1 ip4:192.0.2.1 -all'),
  'TXT _dmarc.example.com': is('v=DMARC1; p=none;'),
  'TXT _dmarc.com': none,
  'MX example.com': is('10 mx.mail.test'),
}

const look = (changed: Answers) => diagnose({ domain, wanted, answers: { ...right, ...changed }, hosts })

function table(record: string, cases: [string, Answers, Finding['state'], RegExp?][]): void {
  for (const [what, changed, state, problem] of cases)
    it(what, () => {
      const { findings } = look(changed)
      assert.equal(findings[record]?.state, state, findings[record]?.problem ?? '')
      if (problem) assert.match(findings[record]?.problem ?? '', problem)
      else assert.equal(findings[record]?.problem ?? null, null)
      // What is wrong with one record says nothing about another.
      for (const [other, finding] of Object.entries(findings))
        if (other !== record) assert.equal(finding.state, 'found', `${other}: ${finding.problem}`)
    })
}

describe('DKIM', () => {
  const at = (name: string, answer: Answer): Answers => ({ 'TXT k1._domainkey.example.com': none, [`TXT ${name}`]: answer })
  const says = (...values: string[]): Answers => ({ 'TXT k1._domainkey.example.com': is(...values) })
  const { value } = keys[0]
  table('rsa', [
    ['is found', {}, 'found'],
    ['is found with its tags in another order', says(`v=DKIM1; p=${rsa}; k=rsa;`), 'found'],
    ['is found with tags that allow what we do', says(`${value}; h=sha1:sha256; s=email; t=s; n=ours`), 'found'],
    ['is found without v=, which is DKIM1 then', says(`k=rsa; p=${rsa}`), 'found'],
    ['is found with spaces where strings were joined', says(`v=DKIM1;k=rsa;p=${rsa.slice(0, 200)} ${rsa.slice(200)}`), 'found'],
    ['is found without k=, which is rsa then', says(`v=DKIM1; p=${rsa}`), 'found'],
    ['is found in capitals where those mean nothing', says(`v=DKIM1; k=RSA; p=${rsa}`), 'found'],
    ['has its tags in capitals', says(`v=DKIM1; k=rsa; P=${rsa}`), 'wrong', /has P= with a capital letter, which receivers do not know/],
    ['has a tag twice', says(`${value}; p=${rsa}`), 'wrong', /has “p=” twice/],
    [
      'has its version last',
      says(`k=rsa; p=${rsa}; v=DKIM1`),
      'wrong',
      /does not begin with v=DKIM1, which has to come first\. Enter the value/,
    ],
    ['has another version', says(`v=DKIM2; k=rsa; p=${rsa}`), 'wrong', /says v=“DKIM2”; it has to be DKIM1/],
    ['allows no sha256', says(`${value}; h=sha1`), 'wrong', /says h=“sha1”, which allows no signature of ours, by sha256/],
    ['is for something else', says(`${value}; s=tlsrpt`), 'wrong', /says s=“tlsrpt”, which makes it no key for e-mail/],
    ['is found beside a text that is no key', says(value, 'some-verification=1'), 'found'],
    ['is found through a CNAME', { 'TXT k1._domainkey.example.com': { found: [value], ttl: 60, aliases: ['k1.elsewhere.test'] } }, 'found'],
    ['is not there', at('other.example.com', none), 'missing', /^TXT k1\._domainkey\.example\.com is not there yet\.$/],
    ['is nobody’s to say', { 'TXT k1._domainkey.example.com': dark }, 'unknown', /^Nobody can say just now whether TXT k1.*SERVFAIL/],
    [
      'has the domain twice',
      at('k1._domainkey.example.com.example.com', is(value)),
      'wrong',
      /domain is in its name twice.* Change the name to k1\._domainkey there/,
    ],
    [
      'is at the domain itself',
      at('example.com', is('v=spf1 -all', value)),
      'wrong',
      /is at example\.com itself. Change the name of that record to k1\._domainkey/,
    ],
    ['lacks the underscore', at('k1.domainkey.example.com', is(value)), 'wrong', /lacks the underscore before domainkey/],
    [
      'has another selector',
      at('default._domainkey.example.com', is(value)),
      'wrong',
      /is at default\._domainkey\.example\.com, under another selector/,
    ],
    ['has no selector', at('_domainkey.example.com', is(value)), 'wrong', /is at _domainkey\.example\.com/],
    [
      'is a CNAME that leads nowhere',
      { ...at('x', none), 'CNAME k1._domainkey.example.com': is('gone.test') },
      'wrong',
      /there is a CNAME to “gone\.test”/,
    ],
    ['has quotation marks inside', says(`"${value}"`), 'wrong', /has quotation marks inside its value/],
    ['has backslashes inside', says(value.replaceAll(';', '\\;')), 'wrong', /has backslashes/],
    ['is cut off at 255', says(value.slice(0, 255)), 'wrong', /is cut off after 255 characters of \d+\. If your provider takes only 255/],
    ['is cut off elsewhere', says(value.slice(0, 300)), 'wrong', /is cut off after 300/],
    ['lost a string in the middle', says(value.slice(0, 120) + value.slice(200)), 'wrong', /lacks a piece in its middle/],
    ['is split over two records', says(value.slice(0, 255), value.slice(255)), 'wrong', /is spread over 2 records/],
    ['is split over two records, the other way round', says(value.slice(255), value.slice(0, 255)), 'wrong', /is spread over 2 records/],
    ['lacks its beginning', says(rsa), 'wrong', /lacks its beginning: it has to begin with v=DKIM1; k=rsa; p=/],
    ['was withdrawn', says('v=DKIM1; p='), 'wrong', /nothing after p=/],
    ['has the value of the other one', says(keys[1].value), 'wrong', /has the value that belongs to k2\._domainkey\.example\.com/],
    ['is said to be of another kind', says(`v=DKIM1; k=ed25519; p=${rsa}`), 'wrong', /says k=ed25519/],
    [
      'is another key, by the zone’s own server, which remembers nothing',
      { 'TXT k1._domainkey.example.com': { found: ['v=DKIM1; k=rsa; p=OTHER'], ttl: 86_400, aliases: [], isFirstHand: true } },
      'wrong',
      /has another key, “v=DKIM1; k=rsa; p=OTHER”\. Replace it with the value as it is given\.$/,
    ],
    ['is another key, perhaps remembered', says('v=DKIM1; k=rsa; p=OTHER'), 'wrong', /has another key.*remembered for up to 60 minutes/],
    ['is something else', says('hello\u0000\nworld'), 'wrong', /says “hello world”, which is no key/],
    ['is there twice, with another key', says(value, 'v=DKIM1; k=rsa; p=OTHER'), 'conflict', /has 2 keys/],
  ])
})

describe('the return path', () => {
  const at = (changed: Answers): Answers => ({
    'CNAME bounce.example.com': none,
    'MX bounce.example.com': none,
    'TXT bounce.example.com': none,
    ...changed,
  })
  const points = (target: string): Answers => ({ 'CNAME bounce.example.com': is(target) })
  const mx = { 'MX bounce.example.com': is('10 MX.mail.test.') }
  table('return_path', [
    ['is found', {}, 'found'],
    ['is found in capitals and with a dot', points('RP.Mail.test.'), 'found'],
    ['is not there', at({}), 'missing', /^CNAME bounce\.example\.com is not there yet\.$/],
    ['is nobody’s to say', { 'CNAME bounce.example.com': dark }, 'unknown', /Nobody can say/],
    [
      'has the domain twice',
      at({ 'CNAME bounce.example.com.example.com': is('rp.mail.test') }),
      'wrong',
      /Change the name to bounce there/,
    ],
    ['has the domain after its target', points('rp.mail.test.example.com'), 'wrong', /your own domain at the end.*“rp\.mail\.test\.”/],
    ['has junk after its target', points('rp.mail.test.x'), 'wrong', /it has to be rp\.mail\.test and nothing else/],
    ['has junk before its target', points('http.rp.mail.test'), 'wrong', /and nothing else/],
    [
      'points at somebody else',
      points('bounces.other.test'),
      'conflict',
      /points at “bounces\.other\.test”, and a name can have only one CNAME.*60 minutes/,
    ],
    [
      'points at somebody else, by the zone’s own server',
      { 'CNAME bounce.example.com': { found: ['bounces.other.test'], ttl: 86_400, aliases: [], isFirstHand: true } },
      'conflict',
      /Change it to rp\.mail\.test, if nothing else needs it\.$/,
    ],
    [
      'is proxied',
      at({ 'ADDRESS bounce.example.com': is('104.16.0.1') }),
      'wrong',
      /answers with addresses \(“104\.16\.0\.1”\).*orange cloud.*DNS only/,
    ],
    ['is an MX and an SPF record instead', at({ ...mx, 'TXT bounce.example.com': is('v=spf1 include:rp.mail.test -all') }), 'found'],
    ['is an MX without SPF', at(mx), 'missing', /a TXT record beside it is needed: “v=spf1 include:rp\.mail\.test -all”/],
    [
      'is an MX with two SPF records',
      at({ ...mx, 'TXT bounce.example.com': is('v=spf1 include:rp.mail.test -all', 'v=spf1 -all') }),
      'conflict',
      /two SPF records, and receivers then count neither/,
    ],
    [
      'is an MX with an SPF record of others',
      at({ ...mx, 'TXT bounce.example.com': is('v=spf1 include:other.test -all') }),
      'wrong',
      /lacks include:rp\.mail\.test/,
    ],
    [
      'is an MX of others',
      at({ 'MX bounce.example.com': is('10 mx.other.test') }),
      'conflict',
      /MX bounce\.example\.com points at “mx\.other\.test”/,
    ],
    ['is an MX with an SPF record that nobody can read', at({ ...mx, 'TXT bounce.example.com': dark }), 'unknown', /TXT bounce/],
  ])
})

describe('DMARC', () => {
  const says = (...values: string[]): Answers => ({ 'TXT _dmarc.example.com': is(...values) })
  const gone = (changed: Answers): Answers => ({ 'TXT _dmarc.example.com': none, ...changed })
  table('dmarc', [
    ['is found', {}, 'found'],
    ['is found with a stricter policy', says('v=DMARC1;p=Reject; rua=mailto:a@example.com'), 'found'],
    ['is found above', gone({ 'TXT _dmarc.com': is('v=DMARC1; p=reject') }), 'found'],
    ['is found beside other texts', says('v=DMARC1; p=none', 'hello'), 'found'],
    ['is found above without p=, when it says where reports go', gone({ 'TXT _dmarc.com': is('v=DMARC1; rua=mailto:a@b.test') }), 'found'],
    [
      'is none above either',
      gone({ 'TXT _dmarc.com': is('v=DMARC1; p=rejekt') }),
      'missing',
      /^TXT _dmarc\.example\.com is not there yet\. One above it does not count: TXT _dmarc\.com says p=“rejekt”; it can be/,
    ],
    ['lacks its policy above', gone({ 'TXT _dmarc.com': is('v=DMARC1; sp=none') }), 'missing', /does not count: .* lacks p=/],
    ['is there twice above', gone({ 'TXT _dmarc.com': is('v=DMARC1; p=none', 'v=DMARC1; p=none') }), 'missing', /is not there yet\.$/],
    ['is found without p=, when it says where reports go', says('v=DMARC1; rua=mailto:a@example.com'), 'found'],
    ['is not there', gone({}), 'missing', /^TXT _dmarc\.example\.com is not there yet\.$/],
    ['is nobody’s to say', { 'TXT _dmarc.example.com': dark }, 'unknown', /Nobody can say/],
    ['may be above, where nobody answers', gone({ 'TXT _dmarc.com': dark }), 'unknown', /Nobody can say/],
    ['is there twice', says('v=DMARC1; p=none', 'v=DMARC1; p=reject'), 'conflict', /has 2 DMARC records, and receivers then count none/],
    [
      'has the domain twice',
      gone({ 'TXT _dmarc.example.com.example.com': is('v=DMARC1; p=none') }),
      'wrong',
      /Change the name to _dmarc there/,
    ],
    ['lacks the underscore', gone({ 'TXT dmarc.example.com': is('v=DMARC1; p=none') }), 'wrong', /lacks the underscore, _dmarc/],
    ['is at the domain itself', gone({ 'TXT example.com': is('v=DMARC1; p=none') }), 'wrong', /is at example\.com itself/],
    ['has quotation marks inside', says('"v=DMARC1; p=none"'), 'wrong', /has quotation marks inside/],
    ['has an unknown policy', says('v=DMARC1; p=nonee'), 'wrong', /says p=“nonee”; it can be none, quarantine or reject/],
    ['lacks its policy', says('v=DMARC1'), 'wrong', /lacks p=/],
    ['is something else', says('v=DMARC2; p=none'), 'wrong', /is no DMARC policy/],
  ])
})

describe('MX', () =>
  table('mx', [
    ['is found', {}, 'found'],
    ['is not there', { 'MX example.com': none }, 'missing', /MX example\.com is not there yet/],
    ['is nobody’s to say', { 'MX example.com': dark }, 'unknown', /Nobody can say/],
    ['points elsewhere', { 'MX example.com': is('1 aspmx.l.google.com') }, 'conflict', /points at “aspmx\.l\.google\.com”/],
  ]))

describe('the domain', () => {
  it('has two SPF records', () => {
    const { hints } = look({ 'TXT example.com': is('v=spf1 -all', 'v=spf1 include:x.test ~all', 'other') })
    assert.match(hints.join(), /^example\.com has two SPF records/)
    assert.deepEqual(look({ 'TXT example.com': is('v=spf1 -all') }).hints, [])
  })

  it('only tries its key out', () => {
    const { hints, findings } = look({ 'TXT k1._domainkey.example.com': is(`${keys[0].value}; t=s:y`) })
    assert.deepEqual(hints, [
      'TXT k1._domainkey.example.com has t=y, which tells receivers that signatures are only being tried out. Remove that part.',
    ])
    assert.equal(findings.rsa?.state, 'found')
  })

  it('is nowhere', () => {
    const nowhere = Object.fromEntries(Object.keys(right).map((question) => [question, { missing: 'nxdomain' } as Answer]))
    const { findings } = diagnose({ domain, wanted, answers: nowhere, hosts })
    for (const { state, problem } of Object.values(findings))
      assert.deepEqual(
        [state, problem],
        ['missing', 'There is no domain example.com in DNS. Look whether it is spelt right, and registered.'],
      )
  })

  it('has its policy looked for upwards', () => {
    assert.deepEqual(policyNames('a.b.example.com'), ['_dmarc.a.b.example.com', '_dmarc.b.example.com', '_dmarc.example.com', '_dmarc.com'])
    const deep = policyNames('a.b.c.d.e.f.g.h.example.com')
    assert.deepEqual([deep.length, deep[1]], [8, '_dmarc.d.e.f.g.h.example.com'])
  })
})
