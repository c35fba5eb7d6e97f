import type { ListId, ProjectId, SubscriberId } from '../../base/ids.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import { formatUuid, parseUuid } from '../../base/uuid.ts'
import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findProjectNow } from '../agents/index.ts'
import type { SubscriberKey } from './subscriber-queries.ts'

type Purpose = 'confirm' | 'preferences' | 'personal_data' | 'address_consent' | 'address_change'
type Secrets = Pick<Services, 'secrets'>

interface Person {
  project_id: ProjectId
  list_id: ListId
  id: SubscriberId
  email_key: string | null
}

const keyBytes = 48
const markBytes = 8
/** These say more than whom they are about. */
const longer: ReadonlySet<Purpose> = new Set(['personal_data', 'address_consent', 'address_change'])

const markOf = (email_key: string | null): Buffer => hashOfSecret(email_key ?? '').subarray(0, markBytes)

/**
 * Names one subscriber of one list, and the address that they have now, for one purpose; nobody can make one up. What follows is the purpose's
 * own.
 */
export const subscriberToken = ({ secrets }: Secrets, purpose: Purpose, person: Person, more: Buffer = Buffer.alloc(0)): string =>
  secrets.sign(purpose, Buffer.concat([...[person.project_id, person.list_id, person.id].map(parseUuid), markOf(person.email_key), more]))

/** Where somebody says what they want to get. Whoever has the link reads their mail. It ends with the address: people keep mail for years. */
export const preferencesUrl = (services: Secrets & Pick<Services, 'config'>, person: Person): string =>
  `${services.config.PUBLIC_URL}/preferences/${subscriberToken(services, 'preferences', person)}`

export interface SubscriberLink {
  key: SubscriberKey
  /** Of the address that the link was mailed to; null in links of older releases, which do not say. */
  mark: Buffer | null
  more: Buffer
}

/** False when they have moved to another address since: whoever reads the old mailbox learns nothing of the new one. */
export const isOfAddress = ({ mark }: Pick<SubscriberLink, 'mark'>, { email_key }: Pick<Person, 'email_key'>): boolean =>
  mark === null || mark.equals(markOf(email_key))

/** Null when it was not made here for this. The link may be older than a merge that took the list into another project. */
export async function readSubscriberToken(
  { secrets }: Secrets,
  db: Queryable,
  { purpose, token }: { purpose: Purpose; token: string },
): Promise<SubscriberLink | null> {
  const payload = secrets.verify(purpose, token)
  if (!payload || !isWhole(purpose, payload.length)) return null
  const [project_id, list_id, subscriber_id] = [0, 16, 32].map((offset) => formatUuid(payload.subarray(offset, offset + 16)))
  return {
    key: { list_id, subscriber_id, project_id: await findProjectNow(db, project_id as ProjectId) } as SubscriberKey,
    mark: payload.length === keyBytes ? null : payload.subarray(keyBytes, keyBytes + markBytes),
    more: payload.subarray(keyBytes + markBytes),
  }
}

function isWhole(purpose: Purpose, bytes: number): boolean {
  if (longer.has(purpose)) return bytes > keyBytes + markBytes
  return bytes === keyBytes + markBytes || (purpose === 'confirm' && bytes === keyBytes)
}
