import { isForTrials } from '../base/trial-name.ts'
import { moveAddresses } from '../features/mailboxes/index.ts'
import { leaveCommandAuditRow } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { count } from './progress.ts'
import { UsageError } from './usage.ts'

/** Beside a running Posthaste as well: each mailbox moves as a whole, and what is on its way keeps the address that it has. */
export async function moveToMailDomain({ from }: { from: string }): Promise<void> {
  await withDatabase(async ({ database, config }) => {
    const { MAIL_DOMAIN } = config
    const domain = from.toLowerCase()
    if (isForTrials(MAIL_DOMAIN)) throw new UsageError(`MAIL_DOMAIN is ${MAIL_DOMAIN}, a name for trials. Set it to your domain first.`)
    if (domain === MAIL_DOMAIN) throw new UsageError(`${MAIL_DOMAIN} is MAIL_DOMAIN already.`)
    const { moved, kept } = await moveAddresses({
      database,
      config,
      from: domain,
      async note(tx, mailboxes) {
        const target = { from: domain, to: MAIL_DOMAIN }
        for (const project_id of new Set(mailboxes.map((mailbox) => mailbox.project_id)))
          await leaveCommandAuditRow(tx, project_id, { operation: 'addresses.move', target })
      },
    })
    if (moved + kept.length === 0) throw new UsageError(`No list and no mailbox has an address at ${domain}.`)
    console.log(`Moved ${count(moved)} ${moved === 1 ? 'address' : 'addresses'} from ${domain} to ${MAIL_DOMAIN}.`)
    if (kept.length > 0)
      console.log(
        `Left where they are, because somebody has that name at ${MAIL_DOMAIN} already: ${kept.join(', ')}. Delete them, or free those names and run this again.`,
      )
  })
}
