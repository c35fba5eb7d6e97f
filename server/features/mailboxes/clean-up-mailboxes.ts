import { publish } from '../../events/publish.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { emptyMailbox } from './empty-mailbox.ts'
import { toMailboxDetail } from './mailbox.ts'
import { mailboxesToEmpty, markExpiredDeleted, pruneRetiredAddresses } from './mailbox-queries.ts'

const graceMs = 7 * 24 * 3_600_000
const chunk = 500

/** Every night: what ended seven days ago is gone, what those and deleted ones held is erased, and addresses are given free. */
export const cleanUpMailboxes = defineJob<object>({
  name: 'mailboxes.clean_up',
  schedule: '30 4 * * *',
  async run(services) {
    const { database, clock } = services
    const before = new Date(clock.now().getTime() - graceMs)
    while (await endExpired(services, before));
    for (;;) {
      const mailboxes = await mailboxesToEmpty(database, before, chunk)
      for (const mailbox of mailboxes) await emptyMailbox(services, mailbox)
      if (mailboxes.length < chunk) break
    }
    await pruneRetiredAddresses(database, clock.now())
  },
})

/** True when there may be more. */
const endExpired = ({ database }: Services, before: Date): Promise<boolean> =>
  database.transaction(async (tx) => {
    const expired = await markExpiredDeleted(tx, before, chunk)
    for (const mailbox of expired)
      await publish(tx, mailbox.project_id, 'mailbox.deleted', { mailbox_id: mailbox.id, mailbox: toMailboxDetail(mailbox) })
    return expired.length === chunk
  })
