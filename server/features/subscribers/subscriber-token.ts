import type { ListId, ProjectId, SubscriberId } from '../../base/ids.ts'
import { formatUuid, parseUuid } from '../../base/uuid.ts'
import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findProjectNow } from '../agents/index.ts'
import type { SubscriberKey } from './subscriber-queries.ts'

type Purpose = 'confirm' | 'preferences' | 'personal_data' | 'address_change'
type Secrets = Pick<Services, 'secrets'>

interface Person {
  project_id: ProjectId
  list_id: ListId
  id: SubscriberId
}

const keyBytes = 48
/** These say more than whom they are about. */
const longer: ReadonlySet<Purpose> = new Set(['personal_data', 'address_change'])

/** Names one subscriber of one list, for one purpose; nobody can make one up. What follows the ids is the purpose's own. */
export const subscriberToken = ({ secrets }: Secrets, purpose: Purpose, person: Person, more: Buffer = Buffer.alloc(0)): string =>
  secrets.sign(purpose, Buffer.concat([...[person.project_id, person.list_id, person.id].map(parseUuid), more]))

/** Null when it was not made here for this. The link may be older than a merge that took the list into another project. */
export async function readSubscriberToken(
  { secrets }: Secrets,
  db: Queryable,
  { purpose, token }: { purpose: Purpose; token: string },
): Promise<{ key: SubscriberKey; more: Buffer } | null> {
  const payload = secrets.verify(purpose, token)
  if (!payload || (longer.has(purpose) ? payload.length <= keyBytes : payload.length !== keyBytes)) return null
  const [project_id, list_id, subscriber_id] = [0, 16, 32].map((offset) => formatUuid(payload.subarray(offset, offset + 16)))
  return {
    key: { list_id, subscriber_id, project_id: await findProjectNow(db, project_id as ProjectId) } as SubscriberKey,
    more: payload.subarray(keyBytes),
  }
}
