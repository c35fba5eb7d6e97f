import assert from 'node:assert/strict'
import { test } from 'node:test'
import { posthaste } from '../../tests/support/command-line.ts'
import { urlOf } from '../../tests/support/empty-database.ts'
import { usageOf, useUp } from '../../tests/support/payable.ts'
import { startApp } from '../../tests/support/posthaste.ts'

const app = await startApp({ ROLES: 'http', PAYMENTS: 'off' })
const env = { DATABASE_URL: urlOf(app.connection) }
const { database } = app.services
const planOf = async (id: string) => (await database.first<{ plan: string }>`select plan from projects where id = ${id}`)?.plan

test('projects list shows each project with its owner, its plan and what it has sent; those that were deleted are not there', async () => {
  const [project, gone] = [await app.newProject(), await app.newProject()]
  await useUp(app, project, 7)
  await database.run`update projects set name = ${'Two\nlines'} where id = ${project.id}`
  await database.run`update projects set deleted_at = now() where id = ${gone.id}`
  const { code, stdout, stderr } = await posthaste(['projects', 'list'], env)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^slug +name +owner +plan +sent this month\n/)
  assert.match(stdout, new RegExp(`^${project.id} +Two lines +${project.email} +free +7$`, 'm'))
  assert.match(stdout, /^owner +\S.* owner@posthaste\.test +unlimited +0$/m)
  assert.ok(!stdout.includes(gone.id))
})

test('projects plan gives a plan, which counts at once and is in the audit log', async () => {
  const project = await app.newProject()
  await useUp(app, project)
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  const mail = { from: list.mailbox_address, to: 'reader@example.org', subject: 'Hello', text: 'Hello' }
  assert.equal((await project.post('/emails', mail)).status, 402)
  const { code, stdout, stderr } = await posthaste(['projects', 'plan', project.id, 'light'], env)
  assert.deepEqual([code, stdout, stderr], [0, `Project "${project.id}" is on the plan "light" now: 2000 e-mails a month.\n`, ''])
  assert.equal((await project.post('/emails', mail)).status, 201)
  assert.equal((await usageOf(app, project))?.used, 101)
  const audit = await database.first<{ target: object; request_id: string }>`
    select target, request_id from audit_log where project_id = ${project.id} and operation = 'projects.set_plan'`
  assert.deepEqual(audit?.target, { plan: 'light' })
  assert.match(audit?.request_id ?? '', /^command line of /)
  const unlimited = await posthaste(['projects', 'plan', project.id, 'unlimited'], env)
  assert.match(unlimited.stdout, /as many e-mails as it likes/)
})

test('what is not there is told, with what is, and changes nothing', async () => {
  const project = await app.newProject()
  await project.setPlan('free')
  for (const [args, message] of [
    [[project.id, 'gold'], /^There is no plan "gold"\. There are: unlimited, anonymous, free, light, plus, max\./],
    [[project.id, 'toString'], /^There is no plan "toString"\./],
    [['nobody', 'light'], /^There is no project "nobody"\. There are: owner/],
    [[project.id], /^PLAN is missing\./],
  ] as const) {
    const { code, stdout, stderr } = await posthaste(['projects', 'plan', ...args], env)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, message)
  }
  assert.equal(await planOf(project.id), 'free')
  assert.deepEqual(await database.many`select 1 from audit_log where project_id = ${project.id} and operation = 'projects.set_plan'`, [])
})
