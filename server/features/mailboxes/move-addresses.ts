import type { Config } from '../../base/config.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { toMailboxDetail } from './mailbox.ts'
import { isAddressUsed, lockName, lockStrayMailboxes, readdressMailbox, type StrayMailbox } from './mailbox-queries.ts'

interface Move {
  database: Database
  config: Pick<Config, 'MAIL_DOMAIN'>
  /** A domain that was MAIL_DOMAIN before. */
  from: string
  /** In the transaction of what is moved. */
  note?(tx: Transaction, moved: StrayMailbox[]): Promise<unknown>
}

export interface MovedAddresses {
  moved: number
  /** Somebody else has that name at the new domain already, or signs in with it. */
  kept: string[]
}

const atOnce = 200

/** Addresses keep the domain that they were made at; this gives those of `from` the MAIL_DOMAIN of today. Mail for the old ones is refused from then on. */
export async function moveAddresses({ database, config: { MAIL_DOMAIN }, from, note }: Move): Promise<MovedAddresses> {
  const kept: string[] = []
  let moved = 0
  let after: StrayMailbox | undefined
  do {
    const from_after = { domain: from, after: after ?? null, limit: atOnce }
    const some = await database.transaction(async (tx) => {
      const found = await lockStrayMailboxes(tx, from_after)
      const free: StrayMailbox[] = []
      const taken: string[] = []
      for (const mailbox of found) (await move(tx, mailbox, MAIL_DOMAIN)) ? free.push(mailbox) : taken.push(mailbox.address)
      await note?.(tx, free)
      return { last: found.length === atOnce ? found.at(-1) : undefined, free, taken }
    })
    moved += some.free.length
    kept.push(...some.taken)
    after = some.last
  } while (after)
  return { moved, kept }
}

/** False when the address is taken: whoever gets the mailbox of it gets its mail. */
async function move(tx: Transaction, mailbox: StrayMailbox, domain: string): Promise<boolean> {
  const { project_id, id } = mailbox
  const local = mailbox.address.slice(0, mailbox.address.lastIndexOf('@'))
  const address = `${local}@${domain}`
  await lockName(tx, local.toLowerCase())
  if (await isAddressUsed(tx, address.toLowerCase(), project_id)) return false
  const row = await readdressMailbox(tx, { project_id, id, address, before: mailbox.address })
  if (row) await publish(tx, project_id, 'mailbox.updated', { mailbox_id: id, mailbox: toMailboxDetail(row) })
  return row !== null
}
