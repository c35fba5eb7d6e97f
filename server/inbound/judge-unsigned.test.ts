import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { after, test } from 'node:test'
import { authenticate, type DNSResolver } from 'mailauth'
import { startDnsPeer } from '../../tests/support/dns-peer.ts'
import { createUnsignedJudge } from './judge-unsigned.ts'

const dns = await startDnsPeer({
  'example.org': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  '_dmarc.example.org': { TXT: ['v=DMARC1; p=reject; sp=quarantine'] },
  'mail.example.org': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  'example.net': { TXT: ['v=spf1 exists:%{l}.%{d} -all'] },
  'mx.example.com': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
})
after(() => dns.close())
const resolver = new Resolver({ timeout: 2_000, tries: 1 })
resolver.setServers([dns.address])
const resolve: DNSResolver = async (name, type) => (await resolver.resolve(name, type)) as string[][]
const judge = createUnsignedJudge({ mailDomain: 'posthaste.test' })

const heads = [
  'From: Ann <ann@example.org>\r\nSubject: Hi\r\n\r\n',
  'Received: from a\r\n\tby b; now\r\nFrom:\r\n Ann\r\n <ann@example.org>\r\nTo: bob@example.com\r\n\r\n',
  'from: ann@mail.example.org\r\n\r\n',
  'From : ann@example.org\r\n\r\n',
  'From: ann@example.org\r\nFROM: eve@example.net\r\n\r\n',
  'From: ann@example.org, eve@example.net\r\n\r\n',
  'From: People: ann@example.org, bob@example.org;\r\n\r\n',
  'From: "ann@example.org" <eve@example.net>\r\nX-From: ann@example.org\r\n\r\n',
  'Subject: a\r\nno field at all\r\nFrom: ann@example.org\r\n\r\n',
  'Subject: a\r\nno field, and then From: eve@example.net\r\nFrom: ann@example.org\r\n\r\n',
  ' From: eve@example.net\r\nFrom: ann@example.org\r\n\r\n',
  'Fr\u00f6m: eve@example.net\r\nFrom: ann@example.org\r\n\r\n',
  'From\r\n : eve@example.net\r\nFrom: ann@example.org\r\n\r\n',
  'Subject: a\r\n \r\nFrom: ann@example.org\r\n\t\r\n\r\n',
  'From: ann@b\u00fccher.example\r\n\r\n',
  'From: ann@example.org',
  'Subject: nobody\r\n\r\n',
  'From:\r\n\r\n',
  '\r\n',
  '',
]

const envelopes = [
  { sender: 'ann@example.org', address: '192.0.2.1', helo: 'mx.example.com' },
  { sender: 'ann@mail.example.org', address: '192.0.2.1', helo: '192.0.2.1' },
  { sender: 'ann@example.org', address: '192.0.2.9', helo: '' },
  { sender: '', address: '192.0.2.1', helo: 'mx.example.com' },
  { sender: 'eve@example.net', address: '2001:db8::1', helo: '' },
  { sender: 'ann@example.org', address: null, helo: 'mx.example.com' },
]

const core = ({ spf, dkim, dmarc }: Pick<Awaited<ReturnType<typeof authenticate>>, 'spf' | 'dmarc'> & { dkim: object }) => {
  const { headerFrom, fromFields } = dkim as { headerFrom: string[]; fromFields: number }
  return {
    spf: spf && { result: spf.status.result, domain: spf.domain },
    authors: { headerFrom, fromFields },
    dmarc: dmarc && { result: dmarc.status.result, from: dmarc.status.header?.from, policy: dmarc.policy, alignment: dmarc.alignment },
  }
}

test('unsigned mail is judged as mailauth judges it as a whole, the first time and from memory', async () => {
  for (const text of heads) {
    for (const { sender, address, helo } of envelopes) {
      const head = Buffer.from(text)
      const whole = await authenticate(head, {
        ...{ sender, helo, mta: 'posthaste.test', resolver: resolve, rejectRsaSha1: true, disableBimi: true },
        ...(address === null ? {} : { ip: address }),
      })
      const expected = core({ ...whole, spf: address === null ? false : whole.spf })
      for (const time of ['first', 'second']) {
        const judged = await judge({ head, sender, address, helo, resolver: resolve })
        assert.deepEqual(core(judged), expected, `${time}: ${JSON.stringify({ text, sender, address, helo })}`)
      }
    }
  }
})

test('an answer that did not come is not kept', async () => {
  let isSilent = true
  const hesitant: DNSResolver = async (name, type) => {
    if (isSilent) throw Object.assign(new Error('silent'), { code: 'ETIMEOUT' })
    return resolve(name, type)
  }
  const fresh = createUnsignedJudge({ mailDomain: 'posthaste.test' })
  const mail = { head: Buffer.from('From: ann@example.org\r\n\r\n'), sender: 'ann@example.org', address: '192.0.2.1', helo: '' }
  const resultsOf = async () => {
    const { spf, dmarc } = core(await fresh({ ...mail, resolver: hesitant }))
    return [spf, dmarc].map((found) => (found ? found.result : found))
  }
  assert.deepEqual(await resultsOf(), ['temperror', 'temperror'])
  isSilent = false
  assert.deepEqual(await resultsOf(), ['pass', 'pass'])
})
