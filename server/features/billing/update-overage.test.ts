import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import { billOverage } from './index.ts'

const clock = createTestClock()
const app = await startApp({}, { clock })

test('overage is off until somebody allows it, with a cap: fifty dollars, unless they name another or none', async () => {
  const project = await app.newProject()
  const off = await project.get('/settings/overage')
  assert.deepEqual([off.status, off.body], [200, { overage_enabled: false, overage_cap: null, overage_rate: 0.003 }])
  for (const [change, result] of [
    [{ overage_enabled: true }, { overage_enabled: true, overage_cap: 50 }],
    [{ overage_cap: null }, { overage_enabled: true, overage_cap: null }],
    [{ overage_enabled: true }, { overage_enabled: true, overage_cap: null }],
    [{ overage_cap: 12.5 }, { overage_enabled: true, overage_cap: 12.5 }],
    [{}, { overage_enabled: true, overage_cap: 12.5 }],
    [{ overage_cap: 0 }, { overage_enabled: true, overage_cap: 0 }],
    [{ overage_cap: 0.29 }, { overage_enabled: true, overage_cap: 0.29 }],
    [
      { overage_enabled: false, overage_cap: null },
      { overage_enabled: false, overage_cap: null },
    ],
    [{ overage_enabled: true }, { overage_enabled: true, overage_cap: 50 }],
    [{ overage_enabled: false }, { overage_enabled: false, overage_cap: 50 }],
    [
      { overage_enabled: true, overage_cap: null },
      { overage_enabled: true, overage_cap: null },
    ],
  ] as const) {
    const { status, body } = await project.post('/settings/overage', change)
    assert.deepEqual([status, body], [200, { ...result, overage_rate: 0.003 }])
    assert.deepEqual((await project.get('/settings/overage')).body, body)
  }
  assert.deepEqual(await project.events(), [])
})

test('a cap is dollars and cents', async () => {
  const project = await app.newProject()
  for (const overage_cap of [-1, 0.001, 1_000_001, '5', true, 1e308]) {
    const { status, body } = await project.post('/settings/overage', { overage_enabled: true, overage_cap })
    assert.equal(status, 422, String(overage_cap))
    assert.match(body.error.message, /^overage_cap: must be/)
  }
  assert.equal((await project.get('/settings/overage')).body.overage_enabled, false)
})

test('a month is billed once, two days after it is over', async () => {
  const project = await app.newProject()
  await useUp(app, project, 110)
  await app.services.database.run`update usage_periods set overage = 10 where project_id = ${project.id}`
  const billed = async () =>
    (await app.services.database.first<{ billed_at: Date | null }>`select billed_at from usage_periods where project_id = ${project.id}`)
      ?.billed_at
  const now = clock.now()
  await billOverage.run(app.services, {})
  assert.equal(await billed(), null)
  clock.advance(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2) - now.getTime())
  await billOverage.run(app.services, {})
  assert.equal(await billed(), null)
  clock.advance(36 * 3_600_000)
  await billOverage.run(app.services, {})
  const at = await billed()
  assert.ok(at)
  clock.advance(24 * 3_600_000)
  await billOverage.run(app.services, {})
  assert.deepEqual(await billed(), at)
})
