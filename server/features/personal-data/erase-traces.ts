import { publish } from '../../events/publish.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { removeRawMail } from '../raw-mail/index.ts'
import { eraseAnswers } from '../webhooks/index.ts'
import {
  anonymiseDeliveries,
  dropStrayAddresses,
  type Erasure,
  findEmails,
  findErasure,
  hasMailLeft,
  isBeingSentTo,
  leaveCalendars,
  leaveFeeds,
  openErasures,
  placesOfMail,
  removeEmails,
  removeErasure,
  removeRest,
} from './erasure-queries.ts'
import type { Person } from './person.ts'
import { patternsOf } from './person-events.ts'
import { redactEvents } from './redact-events.ts'

const mailChunk = 200
const ledgerChunk = 5_000

/**
 * What is left of somebody who was erased. Each step can be done again: killed in between, or while something is being sent to them, it
 * is tried once more, and every night until nothing is left. Who it is about is in the database alone, not in the queue.
 */
export const eraseTraces = defineJob<{ id?: string }>({
  name: 'contacts.erase',
  schedule: '50 2 * * *',
  async run(services, { id }) {
    const erasure = id === undefined ? null : await findErasure(services.database, id)
    const due = id === undefined ? await openErasures(services.database) : erasure ? [erasure] : []
    if (id === undefined) await dropStrayAddresses(services.database)
    let unfinished = 0
    for (const one of due) if (!(await erase(services, one))) unfinished++
    if (unfinished > 0)
      throw new Error(`Mail to or from ${unfinished} of ${due.length} erased people is being sent; the rest of them is gone`)
  },
})

type Needs = Pick<Services, 'database' | 'blobs'>

/** False when somebody is sending to them, or passes on what they wrote: what that leaves is for the next time. */
async function erase(services: Needs, erasure: Erasure): Promise<boolean> {
  const { database } = services
  const wasBeingSent = await isBeingSentTo(database, erasure)
  await eraseMail(services, erasure)
  while ((await anonymiseDeliveries(database, erasure, ledgerChunk)) === ledgerChunk);
  await database.transaction(async (tx) => {
    for (const { id, mailbox_id } of await leaveCalendars(tx, erasure))
      await publish(tx, erasure.project_id, 'calendar_event.deleted', {
        calendar_event_id: id,
        mailbox_id,
        title: '',
        calendar_event: null,
      })
    await removeRest(tx, erasure)
  })
  await redactEvents(database, erasure)
  await database.transaction((tx) => leaveFeeds(tx, erasure))
  await eraseAnswers(database, erasure.project_id, patternsOf(erasure))
  if (wasBeingSent || (await hasMailLeft(database, erasure))) return false
  await removeErasure(database, erasure)
  return true
}

/** Raw messages go first: a row that outlives its message is found again, a message that nothing names never. */
async function eraseMail(services: Needs, person: Person): Promise<void> {
  const { database } = services
  for (const place of placesOfMail(person)) {
    for (let found = await findEmails(database, person, place, mailChunk); found.length > 0; ) {
      const keys = new Set(found.flatMap(({ raw_key }) => raw_key ?? []))
      await removeRawMail(services, person.project_id, [...keys])
      const emails = found
      await database.transaction((tx) => removeEmails(tx, person.project_id, emails))
      found = await findEmails(database, person, place, mailChunk)
    }
  }
}
