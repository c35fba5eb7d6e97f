import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../server/base/ids.ts'
import { makeSecret } from '../server/base/secrets.ts'
import { findOrCreatePerson, issueCode, tryCode } from '../server/features/identity/index.ts'
import { startApp, type TestApp } from './support/posthaste.ts'
import { until } from './support/until.ts'
import { capturedFor, codeFor, newVisitor, signIn, type Visit } from './support/visitor.ts'

/** Nobody learns from an answer, or from its time, whether an address has an account. */
const open = await startApp({ CODES_PER_HOUR: '100000' })
const invited = await startApp({ CODES_PER_HOUR: '100000', SIGN_UPS: 'invited' })

const makePerson = ({ services }: TestApp, address: string) =>
  services.database.transaction((tx) => findOrCreatePerson(tx, { address, key: address }))

/** What another browser gets to see, without what differs for everybody: the address, the time, the secret and the id of the request. */
function seen({ status, headers, location, html }: Visit, address: string) {
  const shown = [...headers]
    .filter(([name]) => !['date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset'].includes(name))
    .map(([name, value]) => [name, value.replace(/=[\w-]{43};/, '=SECRET;')])
    .filter(([name]) => name !== 'content-length')
  return { status, location, shown, html: html.replaceAll(address, 'ADDRESS') }
}

/** Everything that a stranger can do with an address short of reading its mail. */
async function probe(app: TestApp, address: string) {
  const visitor = newVisitor(app.url)
  const asked = await visitor.post('/sign-in', { email: address })
  const visits = [asked, await visitor.get(asked.location as string)]
  for (let guess = 0; guess < 6; guess++) visits.push(await visitor.post('/sign-in/code?next=/account', { code: 'not a code' }))
  visits.push(await newVisitor(app.url).post('/sign-in', { email: address }))
  return visits.map((visit) => {
    const one = seen(visit, address)
    // How many seconds are left of the minute differs with the moment.
    return JSON.parse(
      JSON.stringify(one)
        .replace(/Wait \d+ s/, 'Wait')
        .replace(/"retry-after","\d+"/, '"retry-after","N"'),
    )
  })
}

for (const [name, app] of Object.entries({ open, invited })) {
  test(`SIGN_UPS=${name}: answers are the same for an address with an account and for one without`, async () => {
    await makePerson(app, 'known@example.org')
    const [known, unknown] = [await probe(app, 'known@example.org'), await probe(app, 'strange@example.org')]
    assert.deepEqual(
      known.map(({ status }) => status),
      [303, 200, 401, 401, 401, 401, 401, 410, 429],
    )
    assert.deepEqual(unknown, known)
  })

  test(`SIGN_UPS=${name}: answers take as long for an address with an account as for one without`, async () => {
    const rounds = 60
    for (let number = 0; number < rounds; number++) await makePerson(app, `known-${number}@example.org`)
    const ask = async (email: string) => {
      const began = performance.now()
      const { status } = await newVisitor(app.url).post('/sign-in', { email })
      assert.equal(status, 303)
      return performance.now() - began
    }
    for (let number = 0; number < 10; number++) await ask(`warm-${number}@example.org`)
    const times: [number[], number[]] = [[], []]
    for (let number = 0; number < rounds; number++) {
      times[0].push(await ask(`known-${number}@example.org`))
      times[1].push(await ask(`other-${number}@example.org`))
    }
    const [known, unknown] = times.map((all) => all.sort((a, b) => a - b)[rounds / 2] as number) as [number, number]
    assert.ok(Math.max(known, unknown) / Math.min(known, unknown) < 2, `${known} ms with an account, ${unknown} ms without`)
  })
}

test('by invitation: without one, the mail says so, and no code is right', async () => {
  const visitor = newVisitor(invited.url)
  const asked = await visitor.post('/sign-in', { email: 'stranger@example.org' })
  assert.equal(asked.status, 303)
  const [mail] = await until('the mail is there', async () => {
    const mails = await capturedFor(invited, 'stranger@example.org')
    return mails.length > 0 && mails
  })
  assert.equal(mail?.subject, 'There is no account for this address')
  assert.match(mail?.text ?? '', /Ask whoever told you about it/)
  assert.ok(!/\b\d{6}\b/.test(mail?.text ?? ''))
  const { database } = invited.services
  assert.equal((await database.many`select 1 from email_codes where email_key = 'stranger@example.org'`).length, 1)
  assert.equal(await database.first`select 1 from users where email_key = 'stranger@example.org'`, null)
})

test('the code that stands in for one is right for nobody, not even by chance', async () => {
  const { database } = open.services
  for (const isDecoy of [false, true]) {
    const [binding, address] = [makeSecret(), `decoy-${isDecoy}@example.org`]
    let code = ''
    const notice = (digits: string) => {
      code = digits
      return { kind: 'sign_in_code', subject: 'x', parts: ['x'] }
    }
    const request = { purpose: 'sign_in', address: { address, key: address }, binding, ip: 'ip:192.0.2.1', isDecoy, notice } as const
    await database.transaction((tx) => issueCode(open.services, tx, request))
    assert.match(code, /^\d{6}$/)
    const { outcome } = await tryCode(open.services, { purpose: 'sign_in', binding, code })
    assert.equal(outcome, isDecoy ? 'wrong' : 'right')
  }
})

test('by invitation: members and the invited come in, and whose invitation is taken back does not', async () => {
  const { database } = invited.services
  await makePerson(invited, 'member@example.org')
  await signIn(invited, 'member@example.org')
  const host = await makePerson(invited, 'host@example.org')
  const invite = (email: string) => database.run`
    insert into invites (project_id, id, email, email_key, role, source, user_id, created_at)
    values (${host.project_id}, ${newId()}, ${email}, ${email}, 'viewer', 'team', ${host.user_id}, now())`
  await invite('guest@example.org')
  const guest = await signIn(invited, 'guest@example.org')
  assert.equal((await guest.get('/account')).status, 200)

  await invite('revoked@example.org')
  const visitor = newVisitor(invited.url)
  const asked = await visitor.post('/sign-in', { email: 'revoked@example.org' })
  const code = await codeFor(invited, 'revoked@example.org')
  await database.run`update invites set status = 'revoked' where email_key = 'revoked@example.org'`
  assert.equal((await visitor.post(asked.location as string, { code })).status, 400)
  assert.equal(await database.first`select 1 from users where email_key = 'revoked@example.org'`, null)
})
