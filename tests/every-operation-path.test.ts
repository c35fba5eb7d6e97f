import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { allOperations } from '../server/operations/all-operations.ts'
import type { Operation } from '../server/operations/define-operation.ts'
import {
  ask,
  assertAnswer,
  assertRefused,
  bodyOf,
  type Fixtures,
  kindOf,
  makeFixtures,
  missing,
  paramsOf,
  pathOf,
  stateOf,
} from './support/operations.ts'
import { startApp } from './support/posthaste.ts'
import { speaking, type TestProject } from './support/project.ts'

/** What comes in the path, the query and the method, for every operation. */
const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
let project: TestProject
let fixtures: Fixtures
before(async () => {
  project = await app.newProject()
  fixtures = await makeFixtures(app, project)
})

const oddParts = [
  'garbage',
  '0',
  'null',
  'undefined',
  '%20',
  "'%20or%20'1'='1",
  '%27;%20drop%20table%20lists;%20--',
  'x'.repeat(300),
  'x'.repeat(5_000),
  '%00',
  'lst_%00',
  '%F0%9F%A6%8A',
  '..%2f..%2fetc%2fpasswd',
  '%2f',
  '%5c',
  '%0d%0aX-Evil:%20yes',
  '%25',
  '*',
  '{id}',
  '01890a5d-ac96-774b-bcce-b302099a8057',
  '__proto__',
  'constructor',
  '%ed%a0%80',
  '%zz',
]

for (const operation of allOperations) {
  const { id, method } = operation

  for (const param of paramsOf(operation)) {
    test(`${id}: what is no ${param} is not found, whatever it is`, async () => {
      const own = fixtures[kindOf(operation, param)] as string
      // A mail that was sent is an e-mail of the mailbox, too.
      const [right, alsoRight] = [kindOf(operation, param), operation.id.startsWith('inbox.') ? 'eml' : 'email']
      // A waitlist is a list, too.
      const lists = own.startsWith('lst_') ? ['lst', 'waitlist'] : []
      const others = Object.entries(fixtures).filter(([kind]) => ![right, alsoRight, 'email', ...lists].includes(kind))
      const similar = [own.toUpperCase(), `${own}x`, own.slice(0, -1), `%20${own}`, `${own}%0a`].filter(
        (part) => part.toLowerCase() !== own || /_/.test(own),
      )
      const parts = [...oddParts, ...others.map(([, value]) => value), ...(kindOf(operation, param) === 'email' ? [] : similar)]
      const state = await stateOf(app, project)
      await project.events()
      for (const part of parts) {
        const answer = await ask(project, operation, {
          path: pathOf(operation, fixtures, { [param]: part }),
          body: bodyOf(operation, fixtures),
        })
        const about = `${id} ${param}=${part.slice(0, 60)}: ${answer.status} ${JSON.stringify(answer.body)?.slice(0, 200)}`
        assertAnswer(answer, about)
        assert.ok([404, 422].includes(answer.status), about)
        assert.equal(answer.headers.get('x-evil'), null)
      }
      assert.equal(await stateOf(app, project), state)
      assert.deepEqual(await project.events(), [])
    })
  }

  test(`${id}: a query is checked, parameter by parameter, and unknown ones are ignored`, async () => {
    const path = pathOf(operation, missingFor(operation))
    for (const name of Object.keys(operation.query.shape)) {
      const wrong = [`${name}=%00`, `${name}=a%00b`, `${name}=a&${name}=b`, `${name}=${'x'.repeat(2_000)}`, ...(wrongFor[name] ?? [])]
      for (const query of wrong) {
        const answer = await ask(project, operation, { path: `${path}?${query}`, body: bodyOf(operation, fixtures) })
        assertRefused(answer, 422, 'validation_error', `${id} ${query.slice(0, 60)}`)
        assert.ok(answer.body.error.message.startsWith(`${name}: `), `${query.slice(0, 60)}: ${answer.body.error.message}`)
      }
    }
    if (method !== 'GET') return
    const fine = await ask(project, operation, {
      path: `${pathOf(operation, fixtures)}?unknown=1&__proto__=2&a[b]=c&%F0%9F%A6%8A=1&constructor=x`,
    })
    assertAnswer(fine, id)
    assert.equal(fine.status, operation.status, JSON.stringify(fine.body))
  })

  test(`${id}: a method that its path does not have is 405, and says which it has`, async () => {
    const path = pathOf(operation, fixtures)
    const here = allOperations.filter((one) => one.base === operation.base && matches(one, path)).map((one) => one.method)
    const wrong = (['PUT', 'PATCH', 'POST', 'DELETE', 'GET'] as const).find((one) => !here.includes(one)) ?? 'PUT'
    for (const who of [project, speaking(app.url, null)]) {
      const answer = await who.request(wrong, path)
      assertRefused(answer, 405, 'method_not_allowed', `${wrong} ${path}`)
      assert.deepEqual(answer.headers.get('allow')?.split(', ').sort(), [...new Set(here)].sort())
    }
  })

  test(`${id}: a path beside it is 404`, async () => {
    const path = pathOf(operation, fixtures)
    for (const beside of [`${path}/more`, `${path}x/y/z`, `/v2${path}`, `${path}//`, `/${operation.path.split('/')[1]}_`]) {
      const answer = await project.request(method, beside)
      // What stands where an id would is a path of its own, with methods of its own.
      const isPath = allOperations.some((one) => one.method !== method && matches(one, beside))
      if (answer.status !== 405 || !isPath) assertRefused(answer, 404, 'not_found', `${method} ${beside}`)
    }
  })
}

const limits = ['0', '-1', '201', '1000000', '99999999999999999999', '1.5', 'x', '', '1e2', '0x10', '%2B5', 'NaN', 'null', '5;drop', '٥']
const cursors = ['x', '', '%00', 'null', 'W10', 'eyJhIjoxfQ', 'WzEsMV0', Buffer.from('[1,"x"]').toString('base64url'), '..%2f', "'", '🦊']
const wrongFor: Record<string, string[]> = {
  limit: limits.map((value) => `limit=${value}`),
  cursor: cursors.map((value) => `cursor=${value}`),
}

/** Real things for what is read, and nothing for what is changed: a query is checked before anything is done. */
function missingFor(operation: Operation): Fixtures {
  return operation.method === 'GET' ? fixtures : missing()
}

const matches = (operation: Operation, path: string) => new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)

test('paths that nothing is at are 404 in the contract’s form, with or without a key', async () => {
  const paths = [
    '/v1',
    '/v1/',
    '/v1/Lists',
    '/v1/lists.json',
    '/v1/lists/x/..%2f',
    '/nothing',
    '/.env',
    '/api',
    '/api/token',
    '/%F0%9F%A6%8A',
  ]
  for (const path of paths) {
    for (const headers of [{ authorization: `Bearer ${project.key}` }, new Headers()]) {
      const response = await fetch(app.url + path, { headers })
      const answer = { status: response.status, headers: response.headers, body: await response.json() }
      assertRefused(answer, 404, 'not_found', path)
    }
  }
})
