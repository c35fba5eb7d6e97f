import { formatUuid, parseUuid } from '../../base/uuid.ts'
import type { Services } from '../../operations/context.ts'
import type { SubscriberRow } from './subscriber.ts'
import type { SubscriberKey } from './subscriber-queries.ts'

type Needs = Pick<Services, 'config' | 'secrets'>

/** The link names one subscriber of one list; nobody can make one up. */
export const confirmUrl = ({ config, secrets }: Needs, { project_id, list_id, id }: SubscriberRow): string =>
  `${config.PUBLIC_URL}/confirm/${secrets.sign('confirm', Buffer.concat([project_id, list_id, id].map(parseUuid)))}`

export function parseConfirmToken({ secrets }: Pick<Services, 'secrets'>, token: string): SubscriberKey | null {
  const payload = secrets.verify('confirm', token)
  if (payload?.length !== 48) return null
  const [project_id, list_id, subscriber_id] = [0, 16, 32].map((offset) => formatUuid(payload.subarray(offset, offset + 16)))
  return { project_id, list_id, subscriber_id } as SubscriberKey
}
