import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newId } from '../../base/ids.ts'
import { openJournal, readJournal } from './journal.ts'

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const newIds = (count: number) => Array.from({ length: count }, () => newId<'dlv'>())

test('what was appended and not settled is there for the next process', (t) => {
  const folder = newFolder(t)
  const journal = openJournal(folder)
  const ids = newIds(3)
  for (const id of ids) journal.append(id)
  assert.deepEqual(readJournal(folder), ids)
  journal.settled(ids.slice(0, 2))
  journal.close()
  assert.deepEqual(readJournal(folder), ids)
})

test('a file is thrown away once everything in it is settled', (t) => {
  const folder = newFolder(t)
  const journal = openJournal(folder)
  const ids = newIds(10_001)
  for (const id of ids) journal.append(id)
  assert.equal(readdirSync(folder).length, 2)
  journal.settled(ids.slice(0, 10_000))
  assert.deepEqual(readJournal(folder), ids.slice(10_000))
  journal.settled(ids.slice(10_000))
  journal.close()
  assert.deepEqual(readdirSync(folder), [])
})

test('an entry that was cut off is left out, and those before it are not', (t) => {
  const folder = newFolder(t)
  const journal = openJournal(folder)
  const ids = newIds(2)
  for (const id of ids) journal.append(id)
  journal.close()
  appendFileSync(join(folder, '1.journal'), Buffer.alloc(7, 1))
  assert.deepEqual(readJournal(folder), ids)
})

const skip = existsSync('/dev/full') ? false : 'this system has no /dev/full'

test('with no room on the disk it throws, keeps what it had, and goes on in a new file when there is room', { skip }, (t) => {
  const folder = newFolder(t)
  // Every write to this device says that the disk is full.
  symlinkSync('/dev/full', join(folder, '1.journal'))
  const journal = openJournal(folder)
  const [lost, kept] = newIds(2)
  assert.throws(() => journal.append(lost as never), /ENOSPC/)
  symlinkSync('/dev/full', join(folder, '2.journal'))
  assert.throws(() => journal.check(), /ENOSPC/)
  journal.check()
  journal.append(kept as never)
  assert.deepEqual(
    readJournal(folder).filter((id) => !/^0+-/.test(id)),
    [kept],
  )
  journal.close()
})

test('a folder that does not exist holds nothing', () => assert.deepEqual(readJournal('/nowhere/at/all'), []))
