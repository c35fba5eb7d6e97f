import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { type LiveAccount, lapse, pageLiveAccounts, saveSubscription } from './billing-queries.ts'
import { type CardProcessor, cardProcessorOf } from './card-processor.ts'

const batch = 200
const first = '00000000-0000-0000-0000-000000000000'

const name = 'billing.renew'

/** Every day: what the card processor knows of each subscription. One that has ended puts its project back on the free plan. */
export const renewSubscriptions = defineJob<object>({
  name,
  schedule: '50 3 * * *',
  async run(services: Services) {
    const processor = cardProcessorOf(services)
    if (!processor) return
    for (let after = first; ; ) {
      const accounts = await pageLiveAccounts(services.database, after, batch)
      for (const account of accounts) await renew(services, processor, account)
      if (accounts.length < batch) return
      after = accounts.at(-1)?.project_id as string
    }
  },
})

async function renew(services: Services, processor: CardProcessor, account: LiveAccount): Promise<void> {
  const { database } = services
  if (account.is_project_deleted) {
    if (await processor.end(services, account)) await database.transaction((tx) => lapse(tx, account, name))
    return
  }
  const found = await processor.look(services, account)
  // Not to be found out today: nobody loses their plan over that.
  if (found === null) return
  await database.transaction(async (tx) => {
    if (found === 'gone') await lapse(tx, account, name)
    else await saveSubscription(tx, account.project_id, found)
  })
}
