import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Seats } from './seats.ts'

const limits = { ofKey: 100, ofProject: 100, ofProcess: 100, doing: 'sits', tooMany: 'all taken' }
const never = new AbortController().signal
const guest = (project_id: string) => ({ counted_as: `key of ${project_id}`, project_id })

function takeAll(seats: Seats, project_id: string): number {
  for (let taken = 0; ; taken++) {
    try {
      seats.take(guest(project_id), never)
    } catch {
      return taken
    }
  }
}

test('however many projects take all that they get, the next one finds a seat', () => {
  const seats = new Seats(limits)
  const taken = Array.from({ length: 15 }, (_, index) => takeAll(seats, `project ${index}`))
  assert.ok((taken[0] as number) >= 10, `the first got ${taken[0]}`)
  assert.ok(
    taken.every((count) => count >= 1),
    taken.join(),
  )
})

test('a seat is free again when its guest has left, and one who left before sitting down takes none', () => {
  const seats = new Seats({ ...limits, ofKey: 1 })
  const leaving = new AbortController()
  seats.take(guest('a'), leaving.signal)
  assert.throws(() => seats.take(guest('a'), never), /sits in 1 requests already/)
  leaving.abort()
  seats.take(guest('a'), leaving.signal)
  seats.take(guest('a'), never)
})
