import assert from 'node:assert/strict'
import { test } from 'node:test'
import { greetedSmtp } from '../../tests/support/smtp-client.ts'
import { startTestSmtpServer } from '../../tests/support/smtp-server.ts'
import { until } from '../../tests/support/until.ts'
import { type DeliveryPurpose, formatDeliveryToken } from '../base/delivery-token.ts'
import { newId } from '../base/ids.ts'
import { formatReplyToken } from '../base/reply-token.ts'
import { createSecrets } from '../base/secrets.ts'

const server = await startTestSmtpServer({ relays: ['127.0.0.1'] })
const { secrets, project, database } = server
await server.addMailbox('ann')
await server.addMailbox('paused', { status: 'paused' })
await server.addMailbox('disabled', { status: 'disabled' })
await server.addMailbox('expired', { expires_at: new Date(Date.now() - 1_000) })
await server.addMailbox('lasting', { expires_at: new Date(Date.now() + 3_600_000) })
await server.addMailbox('ann+work', { status: 'disabled' })
await database.run`
  insert into mailboxes (project_id, id, address, address_key, type, status, deleted_at)
  values (${project.id}, gen_random_uuid(), 'gone@posthaste.test', 'gone@posthaste.test', 'persistent', 'disabled', now())`
await database.run`
  insert into mailboxes (project_id, id, address, address_key, type, status)
  values (${project.id}, gen_random_uuid(), 'ann@müller.test', 'ann@xn--mller-kva.test', 'persistent', 'active')`

/** The address through which the owner of a proxy mailbox answers. */
async function replyThrough(name: string): Promise<string> {
  const id = newId()
  await database.run`
    insert into proxy_addresses (project_id, mailbox_id, id, outside, outside_key, created_at)
    select project_id, id, ${id}::uuid, 'lea@example.com', 'lea@example.com', now() from mailboxes where address_key = ${`${name}@posthaste.test`}`
  return `reply+${formatReplyToken(secrets, id)}@posthaste.test`
}

/** The answer to RCPT TO, without its words. */
async function answerTo(...addresses: string[]): Promise<string[]> {
  const client = await greetedSmtp(server)
  await client.say('EHLO client.test')
  await client.say('MAIL FROM:<someone@example.com> SMTPUTF8')
  const answers: string[] = []
  for (const address of addresses) answers.push(/^\d+ [\d.]+/.exec(await client.say(`RCPT TO:<${address}>`))?.[0] ?? '')
  client.close()
  return answers
}

const token = (purpose: DeliveryPurpose = 'return_path', key = secrets) =>
  formatDeliveryToken(key, purpose, { kind: 'delivery', project_id: project.id, id: newId() })

const table: [address: string, answer: string][] = [
  ['ann@posthaste.test', '250 2.1.5'],
  ['Ann@PostHaste.TEST', '250 2.1.5'],
  ['ann+anything@posthaste.test', '250 2.1.5'],
  ['ANN+Any.Thing@posthaste.test', '250 2.1.5'],
  ['"ann"@posthaste.test', '250 2.1.5'],
  ['"an n"@posthaste.test', '501 5.1.3'],
  ['ann+work@posthaste.test', '550 5.2.1'],
  ['ann+work+more@posthaste.test', '250 2.1.5'],
  ['ann@xn--mller-kva.test', '250 2.1.5'],
  ['ann@MÜLLER.test', '250 2.1.5'],
  ['lasting@posthaste.test', '250 2.1.5'],
  ['paused@posthaste.test', '450 4.2.1'],
  ['disabled@posthaste.test', '550 5.2.1'],
  ['expired@posthaste.test', '550 5.1.1'],
  ['gone@posthaste.test', '550 5.1.1'],
  ['nobody@posthaste.test', '550 5.1.1'],
  ['ann@example.com', '550 5.1.1'],
  ['ann@[127.0.0.1]', '550 5.1.1'],
  ['+ann@posthaste.test', '550 5.1.1'],
  [`b+${token()}@posthaste.test`, '250 2.1.5'],
  [`B+${token().toUpperCase()}@POSTHASTE.TEST`, '250 2.1.5'],
  [`unsubscribe+${token('unsubscribe')}@posthaste.test`, '250 2.1.5'],
  [`unsubscribe+${token('click')}@posthaste.test`, '550 5.1.1'],
  [`b+${token('unsubscribe')}@posthaste.test`, '550 5.1.1'],
  [`b+${token('return_path', createSecrets('another key, which is long enough too'))}@posthaste.test`, '550 5.1.1'],
  [`b+${'0'.repeat(52)}@posthaste.test`, '550 5.1.1'],
  [`c+${token()}@posthaste.test`, '550 5.1.1'],
  [await replyThrough('ann'), '250 2.1.5'],
  [(await replyThrough('lasting')).toUpperCase(), '250 2.1.5'],
  [await replyThrough('paused'), '450 4.2.1'],
  [await replyThrough('disabled'), '550 5.2.1'],
  [await replyThrough('expired'), '550 5.1.1'],
  [await replyThrough('gone'), '550 5.1.1'],
  [`reply+${formatReplyToken(secrets, newId())}@posthaste.test`, '550 5.1.1'],
  [`reply+${'0'.repeat(52)}@posthaste.test`, '550 5.1.1'],
  [`reply+${token()}@posthaste.test`, '550 5.1.1'],
  ['postmaster@posthaste.test', '550 5.1.1'],
  ['postmaster', '550 5.1.1'],
  ['no address', '501 5.1.3'],
  ['', '501 5.1.3'],
]

test('who may be written to', async () => {
  const answers = await answerTo(...table.map(([address]) => address))
  assert.deepEqual(
    table.map(([address], index) => [address, answers[index]]),
    table,
  )
})

/** Once what was remembered is forgotten. */
const answering = (answer: string, address: string) =>
  until(`${answer} for ${address}`, async () => (await answerTo(address))[0] === answer, { withinMs: 5_000 })

test('a new mailbox and a pause are seen soon', async () => {
  assert.deepEqual(await answerTo('new@posthaste.test'), ['550 5.1.1'])
  await server.addMailbox('new')
  await answering('250 2.1.5', 'new@posthaste.test')
  await database.run`update mailboxes set status = 'paused' where address_key = 'new@posthaste.test'`
  await answering('450 4.2.1', 'new@posthaste.test')
})

test('postmaster without a domain is ours, once there is such a mailbox', async () => {
  await server.addMailbox('postmaster')
  await answering('250 2.1.5', 'postmaster')
  const client = await greetedSmtp(server)
  assert.match(await client.send('Postmaster', 'Subject: help\r\n\r\n'), /^250 /)
  assert.deepEqual(
    (await server.spooledFor('postmaster@posthaste.test')).map((row) => row.recipients),
    [['postmaster@posthaste.test']],
  )
})

test('nobody writes to a project that was deleted', async () => {
  await database.run`update projects set deleted_at = now() where id = ${project.id}`
  await answering('550 5.1.1', 'ann@posthaste.test')
  await answering('550 5.1.1', 'disabled@posthaste.test')
})
