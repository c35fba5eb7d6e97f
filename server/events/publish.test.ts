import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEventLog, tellIn } from '../../tests/support/event-log.ts'
import { formatId, newId } from '../base/ids.ts'
import { onWake } from '../base/wake.ts'
import type { EventData } from './catalogue.ts'
import { type EventRow, eventsOf, type PublishedEvent } from './expand-events.ts'
import { type NewEvent, publish, publishBulk, publishUnheard } from './publish.ts'

const { database, project_id, openTransaction, close } = await openEventLog()
test.after(close)

const namesOf = async (project: string) =>
  (await database.many<{ data: { name: string } }>`select data from events where project_id = ${project} order by position`).map(
    (row) => row.data.name,
  )

test('an event is there when its transaction commits, and not a moment earlier', async () => {
  const project = newId<'prj'>()
  const open = await openTransaction((tx) => tellIn(tx, project, 'later'))
  assert.deepEqual(await namesOf(project), [])
  await open.commit()
  assert.deepEqual(await namesOf(project), ['later'])
})

test('a rollback leaves no event, and rouses nobody', async () => {
  const project = newId<'prj'>()
  let wakes = 0
  const off = onWake('events', () => wakes++)
  const open = await openTransaction((tx) => tellIn(tx, project, 'never'))
  await open.rollBack()
  assert.deepEqual(await namesOf(project), [])
  assert.equal(wakes, 0)
  const committed = await openTransaction((tx) => tellIn(tx, project, 'once'))
  assert.equal(wakes, 0)
  await committed.commit()
  assert.equal(wakes, 1)
  off()
})

test('the data go in as they go on the wire, and nothing undeclared with them', async () => {
  const [project, group] = [newId<'prj'>(), newId<'grp'>()]
  const told = { id: group, name: 'Friends', contact_count: 0, created_at: new Date(0), updated_at: new Date(0) }
  const data = { contact_group_id: group, name: 'Friends', contact_group: told, secret: 'no' } as EventData<'contact_group.created'>
  await database.transaction((tx) => publish(tx, project, 'contact_group.created', data))
  const row = await database.first<{ data: object; items: null; item_count: number; created_at: Date }>`
    select * from events where project_id = ${project}`
  assert.deepEqual(row?.data, {
    contact_group_id: formatId('grp', group),
    name: 'Friends',
    contact_group: { ...told, id: formatId('grp', group), created_at: '1970-01-01T00:00:00.000Z', updated_at: '1970-01-01T00:00:00.000Z' },
  })
  assert.deepEqual([row?.items, row?.item_count], [null, 1])
})

test('events of one transaction have its one time, and keep their order', async () => {
  const project = newId<'prj'>()
  const names = Array.from({ length: 20 }, (_, index) => `e${index}`)
  await database.transaction(async (tx) => {
    for (const name of names) await tellIn(tx, project, name)
  })
  assert.deepEqual(await namesOf(project), names)
  const times = await database.many`select distinct created_at from events where project_id = ${project}`
  assert.equal(times.length, 1)
})

test('a bulk of many is one row, and a bulk of none is none', async () => {
  const rows = Array.from({ length: 1_000 }, (_, index) => [`n${index}`])
  await database.transaction(async (tx) => {
    await publishBulk(tx, project_id, 'contact_group.created', { template: { name: '$0' }, rows })
    await publishBulk(tx, project_id, 'contact_group.created', { template: { name: '$0' }, rows: [] })
  })
  const stored = await database.many<{ item_count: number; data: null }>`select * from events where project_id = ${project_id}`
  assert.deepEqual(
    stored.map((row) => [row.item_count, row.data]),
    [[1_000, null]],
  )
})

test('of what nobody listens for, that of one project and type goes together, a hundred to a row, and each is told as if it were alone', async () => {
  const [many, one] = [newId<'prj'>(), newId<'prj'>()]
  const event = (project: typeof many, name: string): NewEvent => {
    const id = newId<'grp'>()
    const contact_group = { id, name, contact_count: 0, created_at: new Date(0), updated_at: new Date(0) }
    return { project_id: project, type: 'contact_group.created', data: { contact_group_id: id, name, contact_group } }
  }
  // A word that looks like a place in a template is a word.
  const names = Array.from({ length: 150 }, (_, index) => `$${index}`)
  let wakes = 0
  const off = onWake('events', () => wakes++)
  await database.transaction((tx) => publishUnheard(tx, [event(one, 'alone'), ...names.map((name) => event(many, name))]))
  off()
  assert.equal(wakes, 0, 'nobody is roused')
  const rowsOf = (project: string) => database.many<EventRow>`select * from events where project_id = ${project} order by position`
  const rows = await rowsOf(many)
  assert.deepEqual(
    rows.map(({ item_count, data }) => [item_count, data]),
    [
      [100, null],
      [50, null],
    ],
  )
  const told = rows.flatMap((row) => eventsOf(row))
  assert.deepEqual(
    told.map(({ data }) => data.name),
    names,
  )
  const [first] = told as [PublishedEvent]
  assert.equal((first.data.contact_group as { created_at: string }).created_at, '1970-01-01T00:00:00.000Z', 'as on the wire')
  assert.equal(new Set(told.map(({ id }) => id)).size, 150)
  assert.deepEqual(
    (await rowsOf(one)).map(({ data, items }) => [data?.name, items]),
    [['alone', null]],
  )
})
