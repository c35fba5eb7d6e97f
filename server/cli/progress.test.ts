import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProgress, describe, duration } from './progress.ts'

test('the bar tells share, bytes, rate and the time left', () => {
  assert.equal(
    describe({ bytes: 25_000_000, of: 100_000_000, rows: 50_000 }, 10),
    '[######------------------]  25 %  25.0 MB of 100.0 MB  5,000 rows/s  0:30 left',
  )
  assert.equal(describe({ bytes: 1_500_000, of: null, rows: 10 }, 2), '1.5 MB  5 rows/s')
  assert.match(describe({ bytes: 120, of: 100 }, 2), /100 %/)
  assert.equal(duration(2_430), '2.4 s')
  assert.equal(duration(192_000), '3 min 12 s')
})

test('it is drawn on a terminal, cut to its width, and nowhere else', () => {
  const written: string[] = []
  const out = (isTTY: boolean) => ({ isTTY, columns: 20, write: (text: string | Uint8Array) => written.push(String(text)) > 0 })
  createProgress('Working', out(false)).show({ bytes: 1, of: 2 })
  assert.deepEqual(written, [])
  const progress = createProgress('Working', out(true))
  progress.show({ bytes: 1, of: 2 })
  progress.show({ bytes: 2, of: 2 }) // too soon to be drawn
  progress.end()
  assert.deepEqual(written, ['\r\x1b[KWorking  [#########', '\r\x1b[K'])
})
