import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitsOfHost } from './domain-limits.ts'

test('a provider is known by the end of its MX names, whoever’s domain it serves', () => {
  const google = { max_connections: 10, max_messages: 100, rate: 20 }
  for (const host of ['gmail-smtp-in.l.google.com', 'ASPMX.L.Google.COM', 'alt1.aspmx.l.google.com.', 'aspmx2.googlemail.com'])
    assert.deepEqual(limitsOfHost(host), google, host)
  assert.equal(limitsOfHost('example-org.mail.protection.outlook.com').rate, 20)
  assert.equal(limitsOfHost('mta7.am0.yahoodns.net').max_messages, 20)
})

test('others have no limits of their own, and a name that only looks like one is another’s', () => {
  for (const host of ['mx.example.org', 'notgoogle.com', 'google.com.example.org', 'web.de.example.org', ''])
    assert.deepEqual(limitsOfHost(host), {}, host)
})
