import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../tests/support/until.ts'
import { systemClock } from '../../base/clock.ts'
import type { ProjectId } from '../../base/ids.ts'
import { createLog } from '../../base/log.ts'
import { checkDue, type Turn } from './check-due.ts'

const services = { clock: systemClock, log: createLog('silent') }

interface Due {
  project_id: ProjectId
  domain: string
}

/** Domains of one project for each name, in the order in which they are due, and claimed as the database does it: two of a project at most. */
function queueOf(names: string[]) {
  const waiting: Due[] = names.map((name) => ({ project_id: (name.split('.')[1] ?? '') as ProjectId, domain: name }))
  return {
    async claim({ limit, busy }: Turn): Promise<Due[]> {
      const fits = (one: Due) =>
        !busy.includes(one.project_id) && waiting.filter(({ project_id }) => project_id === one.project_id).indexOf(one) < 2
      const taken = waiting.filter(fits).slice(0, limit)
      for (const one of taken) waiting.splice(waiting.indexOf(one), 1)
      return taken
    },
  }
}

test('domains whose name servers hang hold up nobody else’s', async () => {
  const silent = Array.from({ length: 50 }, (_, count) => `${count}.silent`)
  const good = Array.from({ length: 40 }, (_, count) => `one.good${count}`)
  const hanging = Promise.withResolvers<void>()
  const done: string[] = []
  let atOnce = 0
  const round = checkDue(services, {
    ...queueOf([...silent, ...good]),
    async check({ domain }: Due) {
      if (domain.endsWith('.silent')) {
        atOnce++
        await hanging.promise
        atOnce--
      }
      done.push(domain)
    },
  })
  // All of them, while the silent ones that were due before them still hang.
  await until('the good ones are done', () => done.length === good.length)
  assert.deepEqual([done.toSorted(), atOnce], [good.toSorted(), 2])
  hanging.resolve()
  await round
  assert.deepEqual(done.toSorted(), [...silent, ...good].toSorted())
})

test('places are filled again one by one, and one that cannot be checked stops nothing', async () => {
  const names = Array.from({ length: 100 }, (_, count) => `one.project${count}`)
  let underWay = 0
  let most = 0
  const done: string[] = []
  await checkDue(services, {
    ...queueOf(names),
    async check({ domain }: Due) {
      most = Math.max(most, ++underWay)
      await new Promise(setImmediate)
      underWay--
      done.push(domain)
      if (domain.endsWith('7')) throw new Error('no such thing')
    },
  })
  assert.deepEqual([most, done.length], [32, 100])
})

test('a round ends, however many are due', async () => {
  let number = 0
  const claim = async ({ limit }: Turn): Promise<Due[]> =>
    Array.from({ length: limit }, () => ({ project_id: String(number) as ProjectId, domain: `one.project${number++}` }))
  await checkDue(services, { claim, check: async () => {} })
  assert.equal(number, 400)
})
