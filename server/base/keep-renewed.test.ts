import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../tests/support/until.ts'
import { keepRenewed } from './keep-renewed.ts'

const failing = async () => {
  throw new Error('away')
}

test('a lease that could not be renewed is tried again soon, and not any more once it is let go', async () => {
  const failures: string[] = []
  let renewals = 0
  const renew = () => {
    renewals++
    return renewals === 1 ? Promise.resolve() : failing()
  }
  const letGo = keepRenewed(renew, { everyMs: 50, onFailure: ({ message }) => failures.push(message) })
  await until('several failures', () => failures.length >= 3)
  letGo()
  const seen = renewals
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.equal(renewals, seen)
})
