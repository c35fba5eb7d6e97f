import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newId, type ProjectId } from '../server/base/ids.ts'
import { enqueueMessage } from '../server/delivery/enqueue.ts'
import { createDirectTransport } from '../server/delivery/transports/direct.ts'
import { startSenderRole } from '../server/roles/sender.ts'
import { type DnsName, startDnsPeer } from './support/dns-peer.ts'
import { freePort } from './support/free-port.ts'
import { startApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import type { TestProject } from './support/project.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/**
 * OUTBOUND=direct, and a server that takes connections and never says a word. It has a thousand domains. Whoever writes to it must not
 * hold up what others send, nor their own mail to servers that answer.
 */
const port = await freePort()
const tarpit = await startSmtpPeer({ host: '127.0.0.1', port, atGreeting: { hang: true } })
const good = await startSmtpPeer({ host: '127.0.0.2', port })
const manyDomains = Array.from({ length: 400 }, (_, index) => `d${index}.tar.test`)
const toTarpit: DnsName = { MX: [[10, 'mx.tar.test']] }
const dns = await startDnsPeer({
  ...Object.fromEntries(manyDomains.map((domain) => [domain, toTarpit])),
  'tar.test': toTarpit,
  'mx.tar.test': { A: ['127.0.0.1'] },
  'good.test': { MX: [[10, 'mx.good.test']] },
  'mx.good.test': { A: ['127.0.0.2'] },
})
const transport = createDirectTransport('direct', {
  name: 'mail.sender.test',
  dnsServers: [dns.address],
  isPrivateAllowed: true,
  smtp_port: port,
})
const app = await startApp({ ROLES: 'http' })
const { database } = app.services
const stopSender = await startSenderRole({ ...app.services, transport })
after(async () => {
  // What hangs there ends with it.
  await tarpit.close()
  await stopSender()
  await transport.close()
  await Promise.all([good.close(), dns.close()])
})

async function sendPost(addresses: string[], project?: TestProject): Promise<void> {
  const { path, list, ...made } = await newPost(app, project ? { project } : {})
  const imported = await made.project.request('POST', `/lists/${list.id}/subscribers/import`, {
    body: `email\n${addresses.join('\n')}\n`,
    headers: { 'content-type': 'text/csv' },
  })
  assert.equal(imported.status, 201)
  assert.equal((await made.project.post(`${path}/send`)).status, 202)
}

const at = (domain: string, count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}@${domain}`)
const arrived = (name: string) => good.messages.filter(({ to }) => to[0]?.startsWith(name)).length
const underWay = async (table: 'deliveries' | 'messages') =>
  (table === 'deliveries'
    ? await database.many`select 1 from deliveries where status = 'sending'`
    : await database.many`select 1 from messages where status = 'sending'`
  ).length

test('a post to one domain that never answers holds up neither the rest of it nor the post of another', async () => {
  await sendPost([...at('tar.test', 300, 'lost'), ...at('good.test', 5, 'same')])
  await until('all the connections it gets', () => tarpit.open === 5)
  await until('those of the same post', () => arrived('same') === 5)
  await sendPost(at('good.test', 3, 'other'))
  await until('those of another project', () => arrived('other') === 3)
})

test('nor do a thousand such domains of one project', async () => {
  const before = await underWay('deliveries')
  await sendPost(manyDomains.map((domain) => `lost@${domain}`))
  await until('as many under way as one project may have', async () => (await underWay('deliveries')) > before + 80)
  await sendPost(at('good.test', 3, 'victim'))
  await until('those of another project', () => arrived('victim') === 3)
})

const enqueue = (addresses: string[], { project_id = newId<'prj'>() as ProjectId, isSecret = false } = {}) =>
  database.transaction(async (tx) => {
    for (const to of addresses) {
      const from = { name: 'News', address: 'news@sender.test' }
      const mail = { from, to, reply_to: null, subject: 'Please confirm', text: 'Hello', html: null, headers: {} }
      await enqueueMessage(tx, { project_id, kind: 'confirmation', isSecret, mail })
    }
  })

test('single messages: neither one such domain nor many fill the places; codes have theirs', async () => {
  await enqueue(at('tar.test', 150, 'lost'))
  await enqueue(at('good.test', 1, 'single'))
  await until('the message of another project', () => arrived('single') === 1)
  await enqueue(manyDomains.map((domain) => `lost@${domain}`))
  await until('as many under way as one project may have', async () => (await underWay('messages')) > 30)
  await enqueue(at('good.test', 1, 'newcomer'))
  await until('the message of a third project', () => arrived('newcomer') === 1)
  const owner = newId<'prj'>() as ProjectId
  await enqueue(at('good.test', 1, 'code'), { project_id: owner, isSecret: true })
  await until('the code', () => arrived('code') === 1)
})
