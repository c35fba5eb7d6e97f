import { systemClock } from '../../server/base/clock.ts'
import { newId, type ProjectId } from '../../server/base/ids.ts'
import { createLog } from '../../server/base/log.ts'
import { type Database, openDatabase, type Transaction } from '../../server/database/database.ts'
import { type Consumer, startConsumers } from '../../server/events/consume.ts'
import { eventsOf } from '../../server/events/expand-events.ts'
import { publish } from '../../server/events/publish.ts'
import { groupEventData } from '../../server/features/contact-groups/contact-group.ts'
import { cloneDatabase } from './database.ts'

/** An event log of its own, without the program around it. Events are told apart by a name. */
export async function openEventLog() {
  const { connection, drop } = await cloneDatabase()
  const log = createLog('silent')
  const database = openDatabase({ connection, clock: systemClock, log })
  const project_id = newId<'prj'>()
  const stillOpen = new Set<OpenTransaction>()
  return {
    database,
    project_id,
    log,
    tell: (name: string) => database.transaction((tx) => tellIn(tx, project_id, name)),
    openTransaction: async (work: (tx: Transaction) => Promise<void>) => {
      const opened = await openTransaction(database, work)
      stillOpen.add(opened)
      return opened
    },
    close: async () => {
      // A test that failed half-way leaves them behind, and the pool waits for them.
      for (const one of stillOpen) await one.rollBack()
      await database.close()
      await drop()
    },
  }
}

export const tellIn = (tx: Transaction, project_id: ProjectId, name: string): Promise<void> =>
  publish(tx, project_id, 'contact_group.created', groupEventData({ ...group, project_id, id: newId<'grp'>(), name }))

const group = { contact_count: 0, created_at: new Date(0), updated_at: new Date(0) }

/** A consumer that remembers the names it heard, in order, and may do more. */
export function listener(name: string, more: (names: string[]) => void | Promise<void> = () => {}): Consumer & { heard: string[] } {
  const heard: string[] = []
  return {
    name,
    heard,
    types: ['contact_group.created'],
    async handle(_tx, rows) {
      const names = rows.flatMap((row) => eventsOf(row)).map((event) => String(event.data.name))
      await more(names)
      heard.push(...names)
      return names.length > 0
    },
  }
}

/** Makes the consumer's cursor without starting its loop. */
export async function enrol(database: Database, consumer: Consumer): Promise<void> {
  for (const loop of await startConsumers(database, createLog('silent'), [{ ...consumer, handle: async () => false }])) await loop.stop()
}

interface OpenTransaction {
  commit(): Promise<void>
  rollBack(): Promise<void>
}

/** A transaction that stays open until it is told how to end. */
async function openTransaction(database: Database, work: (tx: Transaction) => Promise<void>): Promise<OpenTransaction> {
  const ready = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const done = database.transaction(async (tx) => {
    await work(tx)
    ready.resolve()
    await gate.promise
  })
  await Promise.race([ready.promise, done])
  return {
    commit: () => {
      gate.resolve()
      return done
    },
    rollBack: () => {
      gate.reject(new Error('rolled back'))
      return done.catch(() => {})
    },
  }
}
