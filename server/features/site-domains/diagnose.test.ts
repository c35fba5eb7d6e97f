import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ListId } from '../../base/ids.ts'
import type { Answer } from '../../dns/index.ts'
import type { Answers, Finding } from '../dns-records/index.ts'
import { diagnose } from './diagnose.ts'
import { interestIn, recordsFor, type SiteRecord } from './records.ts'

const list_id = '0190d0e0-0000-7000-8000-000000000001' as ListId
const settings = { SITE_TARGET: 'sites.ours.test' }
const sub = recordsFor(settings, {
  row: { domain: 'blog.example.com', www_enabled: false, list_id },
  proof: 'certificate',
  challenge: null,
})
const challenge = 'LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0'
const naked = recordsFor(settings, { row: { domain: 'example.com', www_enabled: true, list_id }, proof: 'certificate', challenge })
const target = (sub[0] as SiteRecord).value

const is = (...found: string[]): Answer => ({ found, ttl: 3_600, aliases: [] })
const none: Answer = { missing: 'nodata' }
const nowhere: Answer = { missing: 'nxdomain' }
const dark: Answer = { trouble: 'the name server answered SERVFAIL for it' }
const ours = is('192.0.2.1', '2001:db8::1')

const rightOfSub: Answers = {
  'TXT example.com': none,
  [`ADDRESS ${target}`]: ours,
  'CNAME blog.example.com': is(target),
  'ADDRESS blog.example.com': { found: ['192.0.2.1', '2001:db8::1'], ttl: 60, aliases: [target] },
}
const rightOfNaked: Answers = {
  'TXT example.com': none,
  [`ADDRESS ${target}`]: ours,
  'CNAME example.com': none,
  'ADDRESS example.com': ours,
  'TXT _acme-challenge.example.com': is(challenge),
  'CNAME www.example.com': is(target),
  'ADDRESS www.example.com': { found: ['192.0.2.1'], ttl: 60, aliases: [target] },
}

type Row = [what: string, changed: Answers, state: Finding['state'], problem?: RegExp]

function table(given: { record: string; wanted: SiteRecord[]; right: Answers; isProved?: boolean }, rows: Row[]): void {
  const { record, wanted, right, isProved = false } = given
  for (const [what, changed, state, problem] of rows)
    it(what, () => {
      const answers = { ...right, ...changed }
      for (const question of Object.keys(changed))
        assert.ok(
          wanted.some((one) =>
            Object.values(interestIn('example.com', one))
              .flat()
              .includes(question as never),
          ) || question in right,
          `nobody asks ${question}`,
        )
      const findings = diagnose({ zone: 'example.com', wanted, answers, isProved })
      assert.equal(findings[record]?.state, state, findings[record]?.problem ?? '')
      if (problem) assert.match(findings[record]?.problem ?? '', problem)
      else assert.equal(findings[record]?.problem ?? null, null)
      // What is wrong with one record says nothing about another.
      for (const [other, finding] of Object.entries(findings))
        if (other !== record) assert.equal(finding.state, 'found', `${other}: ${finding.problem}`)
    })
}

describe('the CNAME of a subdomain', () => {
  const gone = { 'CNAME blog.example.com': none, 'ADDRESS blog.example.com': none }
  table({ record: 'site', wanted: sub, right: rightOfSub }, [
    ['is found', {}, 'found'],
    ['is found with a dot and in capitals', { 'CNAME blog.example.com': is(`${target.toUpperCase()}.`) }, 'found'],
    ['is found behind another', { 'CNAME blog.example.com': is('blog.example.net') }, 'found'],
    ['is found when our target cannot be asked', { [`ADDRESS ${target}`]: dark }, 'found'],
    ['is not there', gone, 'missing', /^CNAME blog\.example\.com is not there yet\.$/],
    ['is in a zone that is not there', { ...gone, 'TXT example.com': nowhere }, 'missing', /^There is no domain example\.com in DNS/],
    [
      'is nobody’s to say, though the zone seems not to be there',
      { 'TXT example.com': nowhere, 'CNAME blog.example.com': dark, 'ADDRESS blog.example.com': dark },
      'unknown',
      /SERVFAIL/,
    ],
    ['is nobody’s to say', { 'CNAME blog.example.com': dark }, 'unknown', /^Nobody can say just now whether CNAME blog.*SERVFAIL/],
    [
      'has the domain twice',
      { ...gone, 'CNAME blog.example.com.example.com': is(target) },
      'wrong',
      /domain is in its name twice.* Change the name to blog there/,
    ],
    [
      'has our target with the domain at its end',
      { 'CNAME blog.example.com': is(`${target}.example.com`), 'ADDRESS blog.example.com': none },
      'wrong',
      /put your own domain at the end. Write the target with a dot/,
    ],
    [
      'points elsewhere, and the old value lives on for a while',
      { 'CNAME blog.example.com': is('ghs.google.com'), 'ADDRESS blog.example.com': is('198.51.100.7') },
      'conflict',
      /points at “ghs\.google\.com”.* Change it to .* still be remembered for up to 60 minutes/,
    ],
    [
      'points at the target of another site',
      { 'CNAME blog.example.com': is('0abc.sites.ours.test'), 'ADDRESS blog.example.com': is('192.0.2.1') },
      'conflict',
      /points at “0abc\.sites\.ours\.test”/,
    ],
    [
      'points at what all targets are below',
      { 'CNAME blog.example.com': is('sites.ours.test'), 'ADDRESS blog.example.com': is('192.0.2.1') },
      'conflict',
      /points at “sites\.ours\.test”.* Change it to/,
    ],
    [
      'is an A record with our address',
      { 'CNAME blog.example.com': none, 'ADDRESS blog.example.com': is('192.0.2.1') },
      'wrong',
      /leads here by an A or AAAA record \(“192\.0\.2\.1”\)\. Replace it with the CNAME/,
    ],
    [
      'is proxied, or an A record',
      { 'CNAME blog.example.com': none, 'ADDRESS blog.example.com': is('104.16.1.1') },
      'wrong',
      /answers with addresses \(“104\.16\.1\.1”\).*orange cloud.*remove the A and AAAA records/,
    ],
  ])
})

describe('the ALIAS of a naked domain', () => {
  table({ record: 'site', wanted: naked, right: rightOfNaked }, [
    ['is found', {}, 'found'],
    ['is found with IPv4 alone', { 'ADDRESS example.com': is('192.0.2.1') }, 'found'],
    ['is found as a CNAME, where a provider lets it', { 'CNAME example.com': is(target) }, 'found'],
    ['is not there', { 'ADDRESS example.com': none }, 'missing', /^ALIAS example\.com is not there yet\. If your provider has no ALIAS/],
    ['is nobody’s to say', { 'ADDRESS example.com': dark }, 'unknown', /^Nobody can say just now whether ALIAS example\.com is there/],
    [
      'is nobody’s to say without our addresses',
      { [`ADDRESS ${target}`]: nowhere },
      'unknown',
      /has no address\. That is for whoever runs this server/,
    ],
    [
      'has the domain twice',
      { 'ADDRESS example.com': none, 'ADDRESS example.com.example.com': ours },
      'wrong',
      /The ALIAS record is at example\.com\.example\.com.* Change the name to @ there/,
    ],
    [
      'has an AAAA record beside it that points elsewhere',
      { 'ADDRESS example.com': is('192.0.2.1', '2001:db8:ffff::9') },
      'wrong',
      /leads here, but some visitors are sent to “2001:db8:ffff::9”\. Remove the AAAA record/,
    ],
    [
      'has an A record beside it that points elsewhere',
      { 'ADDRESS example.com': is('198.51.100.7', '192.0.2.1') },
      'wrong',
      /some visitors are sent to “198\.51\.100\.7”\. Remove the A record/,
    ],
    [
      'leads elsewhere, or is proxied',
      { 'ADDRESS example.com': is('198.51.100.7') },
      'wrong',
      /^example\.com leads to “198\.51\.100\.7”, not here\. Replace its A record with an ALIAS to .*orange cloud.* for up to 60 minutes\.$/,
    ],
    [
      'is a CNAME to somewhere else',
      { 'ADDRESS example.com': is('198.51.100.7'), 'CNAME example.com': is('old.example.net') },
      'wrong',
      /leads to “old\.example\.net”, not here\. Replace its CNAME/,
    ],
    [
      'is a CNAME that ends with the domain, where nothing is',
      { 'ADDRESS example.com': none, 'CNAME example.com': is(`${target}.example.com`) },
      'wrong',
      /put your own domain at the end/,
    ],
  ])
})

describe('the TXT record', () => {
  const at = (name: string, ...values: string[]): Answers => ({ 'TXT _acme-challenge.example.com': none, [`TXT ${name}`]: is(...values) })
  const says = (...values: string[]): Answers => ({ 'TXT _acme-challenge.example.com': is(...values) })
  table({ record: 'proof', wanted: naked, right: rightOfNaked }, [
    ['is found', {}, 'found'],
    ['is found beside others', says('another', challenge), 'found'],
    ['is not there', { 'TXT _acme-challenge.example.com': none }, 'missing', /^TXT _acme-challenge\.example\.com is not there yet\.$/],
    ['is nobody’s to say', { 'TXT _acme-challenge.example.com': dark }, 'unknown', /SERVFAIL/],
    ['has quotation marks', says(`"${challenge}"`), 'wrong', /has quotation marks or spaces inside its value/],
    ['has an old value, which lives on for a while', says('older'), 'wrong', /says “older”\. Replace it with .* for up to 60 minutes/],
    ['has the domain twice', at('_acme-challenge.example.com.example.com', challenge), 'wrong', /Change the name to _acme-challenge there/],
    ['is at the domain itself', at('example.com', 'v=spf1 -all', challenge), 'wrong', /is at example\.com itself\. Change the name/],
    ['lacks the underscore', at('acme-challenge.example.com', challenge), 'wrong', /lacks the underscore/],
    [
      'is a CNAME to nothing',
      { 'TXT _acme-challenge.example.com': none, 'CNAME _acme-challenge.example.com': is('gone.example.net') },
      'wrong',
      /there is a CNAME to “gone\.example\.net”\. Replace it with the TXT record/,
    ],
  ])
  table({ record: 'proof', wanted: naked, right: rightOfNaked, isProved: true }, [
    ['may go once it was seen', { 'TXT _acme-challenge.example.com': none }, 'found'],
  ])
})

describe('www', () => {
  table({ record: 'www', wanted: naked, right: rightOfNaked }, [
    ['is found', {}, 'found'],
    [
      'is missing',
      { 'CNAME www.example.com': none, 'ADDRESS www.example.com': none },
      'missing',
      /^CNAME www\.example\.com is not there yet\.$/,
    ],
    [
      'points elsewhere',
      { 'CNAME www.example.com': is('old.example.net'), 'ADDRESS www.example.com': is('198.51.100.7') },
      'conflict',
      /points at “old/,
    ],
  ])
})
