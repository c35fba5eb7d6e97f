import { notFound } from '../../base/errors.ts'
import type { Queryable } from '../../database/database.ts'
import { domainKeys } from '../../delivery/control.ts'
import type { Services } from '../../operations/context.ts'
import { findList, type ListKey, type ListRow } from '../lists/index.ts'
import { recordsFor } from './records.ts'
import type { Sending } from './sender.ts'
import { type DomainKeyParts, findDomain, hasMailbox } from './sender-queries.ts'

type Settings = Pick<Services, 'config'>

/** A list's sender with all that there is to say about it. */
export async function reachSender({ config }: Settings, db: Queryable, key: ListKey): Promise<Sending> {
  const list = await findList(db, key)
  if (!list) throw notFound('list')
  return { list, domain: await domainOf({ config }, db, list) }
}

async function domainOf(settings: Settings, db: Queryable, { project_id, sender_domain }: ListRow): Promise<Sending['domain']> {
  if (sender_domain === null) return null
  const key = { project_id, domain: sender_domain }
  const row = await findDomain(db, key)
  return row && { row, ...(await wantedOf(settings, db, key)) }
}

/** The records that a domain needs, and the keys among them. */
export async function wantedOf({ config }: Settings, db: Queryable, key: DomainKeyParts) {
  const keys = await domainKeys(db, key)
  return { keys, wanted: recordsFor(config, { domain: key.domain, keys, receives: await hasMailbox(db, key) }) }
}
