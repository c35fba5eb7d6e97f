import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type DnsName, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addRecords, hourMs, newSenderList, runDue, setUp, verifySender } from '../../../tests/support/senders.ts'

const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ALLOW_PRIVATE_WEBHOOKS: 'true', ROLES: 'http' })

const bytes = (text: string): string => Buffer.from(text).toString('latin1')
/** What PostgreSQL keeps in no text or JSON, and what nobody wants to read in a sentence. */
const strange: Record<string, DnsName> = {
  'a CNAME with a zero byte': { CNAME: 'a\0b.example.test' },
  'a CNAME to what fails': { CNAME: `${'\x01'.repeat(60)}.${'\x02'.repeat(60)}.${'\x03'.repeat(60)}.example.test` },
  'a text with a zero byte': { TXT: ['v=DKIM1; a\0b', 'v=DMARC1; p=a\0b'] },
  'a text that is no UTF-8': { TXT: ['v=DKIM1; \xff\xfe\xed\xa0\xbd', 'v=DMARC1; p=\xff'] },
  'a text that is cut within a letter': { TXT: [bytes(`${'a'.repeat(89)}😀😀`), bytes(`v=DMARC1; p=${'a'.repeat(89)}😀`)] },
  'a text that turns the line around': { TXT: [bytes('v=DMARC1; p=\u202enone\u2028'), bytes('\u202e\u2066x')] },
  'a mail exchange with a zero byte': { MX: [[10, 'a\0b.example.test']], TXT: ['v=spf1 \0 -all'] },
}

for (const [what, found] of Object.entries(strange))
  test(`${what} is told of in words that can be kept`, async () => {
    if (found.CNAME) dns.names[found.CNAME.toLowerCase()] = what.includes('fails') ? { fails: 'SERVFAIL' } : {}
    const list = await newSenderList(app)
    const records = await setUp(list)
    for (const { name } of records) {
      addRecords(dns, list.domain, records)
      dns.names[name] = found
      const { status, next_step } = await list.check()
      assert.equal(typeof status, 'string')
      assert.doesNotMatch(next_step, /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u, name)
      assert.ok(next_step.length < 1_500, next_step)
      assert.deepEqual((await list.get()).next_step, next_step)
      delete dns.names[name]
    }
  })

test('a domain whose key is led to such a name is found to be gone like any other', async () => {
  const list = await newSenderList(app)
  const records = await verifySender(dns, list)
  for (const { name } of records.filter(({ type }) => type === 'TXT')) dns.names[name] = { CNAME: 'gone\0.example.test' }
  for (const hours of [6, 1, 24]) {
    app.clock.advance(hours * hourMs)
    await runDue(app)
  }
  assert.equal((await list.get()).status, 'failed')
})
