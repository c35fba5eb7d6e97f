import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../support/posthaste.ts'
import { newSenderList, setUp } from '../support/senders.ts'
import { startKnot, whyNoKnot } from './knot.ts'

/** A sender's domain in a name server that others wrote: from nothing to verified, then each record broken and healed. */
test('a domain is verified by what knot says of it', { skip: whyNoKnot() }, async () => {
  const knot = await startKnot()
  test.after(() => knot.stop())
  const app = await startApp({ DNS_SERVERS: knot.address, ALLOW_PRIVATE_WEBHOOKS: 'true', ROLES: 'http' })
  const list = await newSenderList(app)
  const records = await setUp(list)
  const step = async () => (await list.check()).next_step as string
  assert.match(await step(), /^There is no domain/)
  for (const record of records) {
    assert.notEqual((await list.check()).status, 'verified')
    await knot.set(record)
  }
  const verified = await list.check()
  assert.deepEqual(
    [verified.status, verified.records.map(({ found }: { found: boolean }) => found)],
    ['verified', [true, true, true, true]],
  )

  const [rsa, path, policy] = [records[0], records[2], records[3]] as [Wanted, Wanted, Wanted]
  const breaks: [what: string, record: Wanted, wrong: Wanted, says: RegExp][] = [
    ['doubled', rsa, { ...rsa, name: `${rsa.name}.${list.domain}` }, /the domain is in its name twice/],
    ['quoted', rsa, { ...rsa, value: `"${rsa.value}"` }, /quotation marks inside/],
    ['cut off', rsa, { ...rsa, value: rsa.value.slice(0, 255) }, /is cut off after 255 characters/],
    [
      'of a service before',
      path,
      { ...path, value: 'bounces.other.test', ttl: 600 },
      /points at “bounces\.other\.test”.* up to 10 minutes/,
    ],
    ['proxied', path, { type: 'A', name: path.name, value: '104.16.0.1' }, /orange cloud/],
    ['without its underscore', policy, { ...policy, name: `dmarc.${list.domain}` }, /lacks the underscore/],
    ['misspelt', policy, { ...policy, value: 'v=DMARC1; p=nonee' }, /can be none, quarantine or reject/],
  ]
  for (const [what, record, wrong, says] of breaks) {
    await knot.unset(record.name)
    await knot.set(wrong)
    assert.match(await step(), says, what)
    await knot.unset(wrong.name)
    await knot.set(record)
    assert.match(await step(), /^Nothing to do/, what)
  }
})

interface Wanted {
  type: string
  name: string
  value: string
  ttl?: number
}
