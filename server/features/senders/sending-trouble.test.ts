import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { readConfig } from '../../base/config.ts'
import { createLog } from '../../base/log.ts'
import { type SendingTrouble, warnOfSending } from './sending-trouble.ts'

const app = await startApp({ ROLES: 'http' })
const { database, clock } = app.services

/** What a start with these settings says in the log. */
async function start(env: Record<string, string>): Promise<string[]> {
  const lines: SendingTrouble[][] = []
  const log = Object.assign(createLog('silent'), { warn: ({ troubles }: { troubles: SendingTrouble[] }) => void lines.push(troubles) })
  await warnOfSending({ database, clock, log, config: readConfig(env) })
  assert.ok(lines.length <= 1)
  return lines.flat().map(({ seen, next }) => `${seen} → ${next}`)
}

test('a trial that begins to send says in one line what is not ready for it', async () => {
  const OUTBOUND = 'smtp://relay.example.com'
  const project = await app.newProject()
  await project.post('/lists', { name: 'Trial' })
  assert.deepEqual(await start({}), [])
  assert.deepEqual(await start({ PUBLIC_URL: 'https://news.example.org' }), [])
  const local = 'links in mail lead to http://localhost:8080, which only this machine can open → Set PUBLIC_URL to the address that'
  const [first, second, ...none] = await start({ OUTBOUND })
  assert.match(first ?? '', /^mail is sent from posthaste\.test, a name for trials .* → Set MAIL_DOMAIN to a domain of yours/)
  assert.ok(second?.startsWith(local), second)
  assert.deepEqual(none, [])
  const stray =
    'the address trial@posthaste.test is at posthaste.test, which is neither MAIL_DOMAIN nor a verified sender → Run "posthaste move-addresses posthaste.test", which puts news.example.org in its place.'
  assert.deepEqual(await start({ OUTBOUND, PUBLIC_URL: 'https://news.example.org' }), [stray])
  assert.equal((await start({ OUTBOUND, MAIL_DOMAIN: 'news.example.org' })).length, 2)
})

test('a domain that its project has set up is no stray, nor is a mailbox that has ended', async () => {
  await database.run`delete from lists`
  await database.run`update mailboxes set deleted_at = now()`
  const project = await app.newProject()
  await database.run`insert into sender_domains (project_id, domain, status, created_at, pending_since, next_check_at)
    values (${project.id}, 'example.com', 'verified', now(), now(), now() + interval '1 year')`
  assert.equal((await project.post('/mailboxes', { address: 'own@example.com' })).status, 201)
  const { body } = await project.post('/mailboxes', { address: 'short@posthaste.test' })
  await database.run`update mailboxes set expires_at = now() - interval '1 day' where address = ${body.address}`
  assert.deepEqual(await start({ OUTBOUND: 'direct', PUBLIC_URL: 'https://news.example.org' }), [])
})
