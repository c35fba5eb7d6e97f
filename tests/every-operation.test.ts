import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MailboxId, parseId } from '../server/base/ids.ts'
import { allOperations } from '../server/operations/all-operations.ts'
import { type Scope, scopes } from '../server/operations/context.ts'
import {
  ask,
  assertAnswer,
  assertRefused,
  bodyOf,
  exampleStatus,
  makeFixtures,
  missing,
  paramsOf,
  pathOf,
  stateOf,
} from './support/operations.ts'
import { startApp } from './support/posthaste.ts'
import { speaking } from './support/project.ts'

/** Who may do what, for every operation that there is and will be. What bodies may hold is in every-operation-input.test.ts. */
const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })

for (const operation of allOperations) {
  const { id, method, scope } = operation

  test(`${id} answers ${operation.status} to who may ask`, async () => {
    const project = await app.newProject()
    const fixtures = await makeFixtures(app, project)
    const answer = await ask(project, operation, { path: pathOf(operation, fixtures), body: bodyOf(operation, fixtures) })
    assertAnswer(answer, id)
    assert.equal(answer.status, exampleStatus(operation), JSON.stringify(answer.body))
  })

  if (scope !== 'none')
    test(`${id} without a key is 401, before anything of it is read`, async () => {
      const project = await app.newProject()
      const fixtures = await makeFixtures(app, project)
      const before = await stateOf(app, project)
      const sents = [
        { body: bodyOf(operation, fixtures) },
        { raw: '{"broken' },
        { raw: 'x', type: 'text/plain' },
        { raw: 'x', type: 'text/csv' },
      ]
      for (const who of [speaking(app.url, null), speaking(app.url, `${project.key}x`)]) {
        for (const sent of sents)
          for (const path of [pathOf(operation, fixtures), pathOf(operation, missing()), `${pathOf(operation, fixtures)}?limit=x`]) {
            const answer = await ask(who, operation, { ...sent, path })
            assertRefused(answer, 401, 'unauthorized', `${id} ${path}`)
            assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer resource_metadata="http/)
          }
      }
      assert.equal(await stateOf(app, project), before)
      assert.deepEqual(await project.events(), [])
    })

  if (scope !== 'any' && scope !== 'none')
    test(`${id} through a key without ${scope} is 403 that names it, and changes nothing`, async () => {
      const project = await app.newProject()
      const fixtures = await makeFixtures(app, project)
      const others = scopes.filter((one) => one !== scope)
      const before = await stateOf(app, project)
      for (const has of [others, [], ...others.map((one) => [one])] as Scope[][]) {
        const answer = await ask(await project.withKey(has), operation, {
          path: pathOf(operation, fixtures),
          body: bodyOf(operation, fixtures),
        })
        assertRefused(answer, 403, 'forbidden', id)
        assert.ok(answer.body.error.message.includes(`"${scope}"`), answer.body.error.message)
        assert.match(answer.headers.get('www-authenticate') ?? '', new RegExp(`error="insufficient_scope", scope="${scope}"`))
      }
      assert.equal(await stateOf(app, project), before)
      assert.deepEqual(await project.events(), [])
    })

  test(`${id} through a key of one mailbox is ${operation.mailboxKeys}`, async () => {
    const project = await app.newProject()
    const fixtures = await makeFixtures(app, project)
    const bound = await project.withKey(scopes, parseId('mbx', fixtures.mbx as string) as MailboxId)
    const before = await stateOf(app, project)
    const answer = await ask(bound, operation, { path: pathOf(operation, fixtures), body: bodyOf(operation, fixtures) })
    assertAnswer(answer, id)
    if (operation.mailboxKeys === 'allowed') return assert.equal(answer.status, exampleStatus(operation))
    assertRefused(answer, 403, 'forbidden', id)
    assert.equal(await stateOf(app, project), before)
    assert.deepEqual(await project.events(), [])
  })

  // Anybody may join a list of whichever project.
  if (paramsOf(operation).length > 0 && id !== 'waitlists.join')
    test(`${id} with another tenant’s ids is 404, just as with ids that never were`, async () => {
      const [ours, theirs] = [await app.newProject(), await app.newProject()]
      const [own, foreign] = [await makeFixtures(app, ours), await makeFixtures(app, theirs)]
      await theirs.events()
      const before = [await stateOf(app, ours), await stateOf(app, theirs)]
      // The number of an attachment is everybody's.
      const params = paramsOf(operation).filter((param) => param !== 'number')
      // Each parameter alone, and all of them at once.
      for (const strange of [...params.map((param) => [param]), params]) {
        const swapped = (fixtures: typeof own) =>
          pathOf(operation, own, Object.fromEntries(strange.map((param) => [param, partOf(operation, fixtures, param)])))
        const body = bodyOf(operation, own)
        const other = await ask(ours, operation, { path: swapped(foreign), body })
        const never = await ask(ours, operation, { path: swapped(missing()), body })
        assertRefused(other, 404, 'not_found', `${method} ${swapped(foreign)}`)
        assert.deepEqual(other.body, never.body)
        assert.equal(other.status, never.status)
      }
      assert.deepEqual([await stateOf(app, ours), await stateOf(app, theirs)], before)
      assert.deepEqual([...(await ours.events()), ...(await theirs.events())], [])
    })
}

/** What stands for a parameter in the path made with these fixtures. */
function partOf(operation: (typeof allOperations)[number], fixtures: Record<string, string>, param: string): string {
  const index = operation.path.split('/').indexOf(`{${param}}`)
  return pathOf(operation, fixtures).split('/')[index] ?? assert.fail(param)
}

test('no two operations share an id, or a method and a path', () => {
  const names = [...allOperations.map(({ id }) => id), ...allOperations.map(({ method, path }) => `${method} ${path}`)]
  assert.equal(new Set(names).size, 2 * allOperations.length)
})
