import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log } from './log.ts'
import { inOne, Repeats, rarely, Trouble, troubleOf } from './trouble.ts'

function listen(): { log: Log; lines: { level: string; about: object; text: string | undefined }[] } {
  const lines: { level: string; about: object; text: string | undefined }[] = []
  const at = (level: string) => (about: object, text?: string) => void lines.push({ level, about, text })
  return { log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } as unknown as Log, lines }
}
const full = () => Object.assign(new Error('could not extend file "base/1/2"'), { code: '53100' })

test('what repeats is said once a minute, with a count of what was left out', () => {
  const repeats = new Repeats()
  const said = [0, 500, 30_000, 59_999, 60_000, 60_500, 130_000].map((now) => repeats.meet('full', now))
  assert.deepEqual(said, [0, null, null, null, 3, null, 1])
})

test('what is another reason is said at once', () => {
  const repeats = new Repeats()
  assert.deepEqual([repeats.meet('full', 0), repeats.meet('away', 1), repeats.meet('full', 2), repeats.meet('away', 3)], [0, 0, null, null])
  assert.equal(repeats.takeLeftOut(), 2)
  assert.equal(repeats.takeLeftOut(), 0)
})

test('reasons without end fill no memory, and those of last are known', () => {
  const repeats = new Repeats()
  for (let number = 0; number < 1_000; number++) assert.equal(repeats.meet(`reason ${number}`, number), 0)
  assert.equal(repeats.meet('reason 999', 1_000), null)
  assert.equal(repeats.meet('reason 1', 1_001), 0)
})

test('a trouble has one line in the log, and one when it is over', () => {
  const { log, lines } = listen()
  const trouble = new Trouble(log, { line: 'it fails', level: 'error', about: { loop: 'one' }, words: 'posts do not go out' })
  trouble.over()
  assert.deepEqual(lines, [])
  for (let time = 0; time < 5; time++) trouble.met(full(), { waiting: time })
  assert.deepEqual(lines.splice(0), [
    { level: 'error', about: { loop: 'one', waiting: 0, reason: 'could not extend file "base/1/2"' }, text: 'it fails' },
  ])
  trouble.over()
  trouble.over()
  assert.deepEqual(lines.splice(0), [
    { level: 'warn', about: { loop: 'one', what: 'it fails', left_out: 4 }, text: 'what failed works again' },
  ])
  // It comes and goes: nothing that nobody knows.
  for (let time = 0; time < 5; time++) {
    trouble.met(full())
    trouble.over()
  }
  assert.deepEqual(lines, [])
})

test('while it lasts it is told in plain words, and what the log quotes is not', () => {
  const { log } = listen()
  const other = listen()
  const posts = new Trouble(log, { line: 'x', words: 'posts do not go out just now' })
  const silent = new Trouble(log, { words: 'the database cannot be written' })
  const unknown = new Trouble(log, { line: 'y' })
  assert.equal(troubleOf(log), null)
  posts.met(full())
  silent.met(Object.assign(new Error('cannot execute UPDATE'), { code: '25006' }))
  unknown.met(new Error('of no concern'))
  assert.equal(troubleOf(log), 'posts do not go out just now: the disk is full; the database cannot be written: the database is read-only')
  assert.equal(troubleOf(other.log), null)
  silent.met(full())
  assert.equal(troubleOf(log), 'posts do not go out just now, the database cannot be written: the disk is full')
  silent.over()
  posts.met(new Error('secret', { cause: { code: 'ENOSPC' } }))
  assert.equal(troubleOf(log), 'posts do not go out just now: the disk is full')
  posts.met(new Error('secret'))
  assert.equal(troubleOf(log), 'posts do not go out just now: the log says why')
  posts.over()
  assert.equal(troubleOf(log), null)
})

test('what several say is said once', () => {
  assert.equal(inOne(['a', null, 'b', 'a']), 'a; b')
  assert.equal(inOne([null]), null)
})

test('work is done around it: its answer, or another one and the trouble', async () => {
  const { log, lines } = listen()
  const trouble = new Trouble(log, { line: 'it fails', words: 'it stands still' })
  const fails = () => Promise.reject(full())
  assert.equal(await trouble.around(fails, 'nothing'), 'nothing')
  assert.equal(troubleOf(log), 'it stands still: the disk is full')
  assert.equal(await trouble.around(async () => 'done', 'nothing'), 'done')
  assert.equal(troubleOf(log), null)
  assert.equal(lines.length, 1)
  const throwsAtOnce = () => {
    throw new Error('at once')
  }
  assert.equal(await trouble.around(throwsAtOnce, 'nothing'), 'nothing')
})

test('a line that many say is said for one of them', () => {
  const { log, lines } = listen()
  for (let number = 1; number <= 5; number++) rarely(log, 'it is late').met(full(), { number })
  rarely(log, 'it is lost').met(full())
  assert.deepEqual(
    lines.map(({ text }) => text),
    ['it is late', 'it is lost'],
  )
  assert.equal(troubleOf(log), null)
})
