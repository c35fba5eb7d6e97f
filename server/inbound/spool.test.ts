import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { testServer, withClient } from '../../tests/support/database.ts'
import { greetedSmtp } from '../../tests/support/smtp-client.ts'
import { startTestSmtpServer } from '../../tests/support/smtp-server.ts'
import { until } from '../../tests/support/until.ts'
import { newId } from '../base/ids.ts'
import { createLog } from '../base/log.ts'
import { troubleOf } from '../base/trouble.ts'
import type { SpooledMessage } from './inbound-message.ts'
import { createSpool, type Taker } from './spool.ts'

const server = await startTestSmtpServer({ relays: ['127.0.0.1'] })
const { database } = server
const log = createLog('silent')

const message = (envelope_from: string, raw = Buffer.from(envelope_from)): SpooledMessage => ({
  id: newId(),
  received_at: new Date(),
  peer: { address: '192.0.2.1', name: 'a.test', is_tls: false },
  envelope_from,
  recipients: ['ann@posthaste.test', 'o\'"{},\\é@posthaste.test'],
  raw,
})

test('each message gets its own bytes back, also none and zero bytes, and recipients as they were', async () => {
  const spool = createSpool({ database, log })
  const messages = [message('one'), message('', Buffer.alloc(0)), message('"quo\\ted"é', Buffer.from([0, 255, 13, 10])), message('last')]
  await Promise.all(messages.map(spool.add))
  for (const { id, envelope_from, recipients, raw, peer, received_at } of messages) {
    const row = await database.first`select envelope_from, recipients, raw, peer, received_at from inbound_spool where id = ${id}`
    assert.deepEqual(row, { envelope_from, recipients, raw, peer, received_at })
  }
})

test('what comes while a commit is under way shares the next', async () => {
  const spool = createSpool({ database, log })
  const messages = Array.from({ length: 21 }, (_, number) => message(`group ${number}`))
  await Promise.all(messages.map(spool.add))
  const commits = await database.many<{ count: number }>`
    select count(*) from inbound_spool where envelope_from like 'group %' group by xmin::text order by min(id::text)`
  assert.deepEqual(
    commits.map(({ count }) => count),
    [1, 20],
  )
})

test('while other mail is being read, what comes a moment later shares the commit; otherwise nobody waits', async () => {
  const calls: (() => void)[] = []
  const taker: Taker = { claim: () => null, take: () => {}, whenIdle: (call) => (isReading ? void calls.push(call) : call()) }
  const spool = createSpool({ database, log, taker })
  const commitsOf = async (name: string) =>
    (await database.many`select 1 from inbound_spool where envelope_from like ${`${name} %`} group by xmin::text`).length
  let isReading = true
  const first = spool.add(message('busy 1'))
  await turn()
  const second = spool.add(message('busy 2'))
  assert.equal(calls.length, 1, 'it asks to be told')
  calls[0]?.()
  await Promise.all([first, second])
  await spool.add(message('busy 3')) // nobody calls: a moment later it is written all the same
  assert.equal(await commitsOf('busy'), 2)
  const many = Array.from({ length: 18 }, (_, number) => spool.add(message(`enough ${number}`)))
  await turn()
  await Promise.all([...many, spool.add(message('enough for the next'))])
  assert.equal(await commitsOf('enough'), 2, 'so many wait for nobody')
  isReading = false
  const alone = spool.add(message('idle 1'))
  await turn()
  await Promise.all([alone, spool.add(message('idle 2'))])
  assert.equal(await commitsOf('idle'), 2)
})

/** All that waits for nothing but its turn has had it; no timer has gone off. */
const turn = () => new Promise<void>((resolve) => process.nextTick(resolve))

test('a burst of large messages is several statements, none of them huge', async () => {
  const spool = createSpool({ database, log })
  const large = Buffer.alloc(3 * 1024 * 1024, 'x')
  await Promise.all(
    [message('large 0', Buffer.alloc(9 * 1024 * 1024)), ...[1, 2, 3].map((n) => message(`large ${n}`, large))].map(spool.add),
  )
  const commits = await database.many<{ count: number }>`
    select count(*) from inbound_spool where envelope_from like 'large %' group by xmin::text order by min(id::text)`
  assert.deepEqual(
    commits.map(({ count }) => count),
    [1, 2, 1],
  )
})

test('a message that the database will not have does not take others with it', async () => {
  const spool = createSpool({ database, log })
  const [first, bad, good] = [message('first'), message('zero \0 byte'), message('good')]
  const outcomes = await Promise.allSettled([first, bad, good].map(spool.add))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.equal(troubleOf(log), null, 'one odd message is no trouble of the whole program')
})

test('while the database is away nothing is promised: 451, and 250 when it is back', async () => {
  const ann = await server.addMailbox('ann')
  const client = await greetedSmtp(server)
  assert.match(await client.send(ann, 'Subject: before\r\n'), /^250 /)
  await client.beginMessage(ann)
  const name = (await database.first<{ name: string }>`select current_database() as name`)?.name as string
  await setReachable(name, false)
  assert.equal(await client.say('Subject: away\r\n.'), '451 4.3.0 The message could not be stored; try again later')
  await until('the mailbox to be forgotten', async () => {
    await client.say('RSET')
    await client.say('MAIL FROM:<ann@example.com>')
    return (await client.say(`RCPT TO:<${ann}>`)) === '451 4.3.0 This cannot be looked up now; try again later'
  })
  await setReachable(name, true)
  await client.say('RSET')
  assert.match(await until('the database', async () => client.send(ann, 'Subject: after\r\n').catch(() => null)), /^250 /)
  const rows = await server.spooledFor(ann)
  assert.deepEqual(
    rows.filter((row) => row.envelope_from === 'ann@example.com').map((row) => /Subject: (\w+)/.exec(row.raw.toString())?.[1]),
    ['before', 'after'],
  )
})

const setReachable = (name: string, isReachable: boolean) =>
  withClient({ ...testServer(), database: 'postgres' }, async (client) => {
    await client.query(`alter database ${name} with allow_connections ${isReachable}`)
    if (!isReachable) await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  })

test('a process that is killed has kept every message that it said 250 to', async () => {
  const to = await server.addMailbox('crash')
  const child = fork(new URL('../../tests/support/accept-mail.ts', import.meta.url), [JSON.stringify(server.connection)])
  after(() => child.kill('SIGKILL'))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const accepted: string[] = []
  const sendOn = async (name: string) => {
    const client = await greetedSmtp({ port })
    for (let number = 0; ; number++) {
      const subject = `${name}-${number}`
      const answer = await client.send(to, `Subject: ${subject}\r\n`).catch(() => '')
      if (!answer.startsWith('250')) return
      accepted.push(subject)
    }
  }
  const senders = Array.from({ length: 10 }, (_, index) => sendOn(`s${index}`))
  await until('a hundred to be accepted', () => accepted.length >= 100)
  child.kill('SIGKILL')
  await Promise.all(senders)
  const kept = new Set((await server.spooledFor(to)).map((row) => /Subject: (\S+)/.exec(row.raw.toString())?.[1]))
  assert.deepEqual(
    accepted.filter((subject) => !kept.has(subject)),
    [],
  )
  assert.ok(kept.size <= accepted.length + 10, 'at most what each session had on the way was kept without an answer')
})
