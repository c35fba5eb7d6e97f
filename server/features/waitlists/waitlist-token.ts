import type { ListId, ProjectId, SubscriberId } from '../../base/ids.ts'
import { formatUuid, parseUuid } from '../../base/uuid.ts'
import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findProjectNow } from '../agents/index.ts'
import type { ListRow } from '../lists/index.ts'
import type { SubscriberKey } from '../subscribers/index.ts'

type Needs = Pick<Services, 'config' | 'secrets'>
interface Person {
  project_id: ProjectId
  list_id: ListId
  id: SubscriberId
}

const payloadOf = ({ project_id, list_id, id }: Person): Buffer => Buffer.concat([project_id, list_id, id].map(parseUuid))

/** Where somebody sees how far they are, and leaves. Whoever has the link is them. */
export const statusUrl = ({ config, secrets }: Needs, person: Person): string =>
  `${config.PUBLIC_URL}/w/${secrets.sign('waitlist', payloadOf(person))}`

export const acceptUrl = ({ config, secrets }: Needs, person: Person): string =>
  `${config.PUBLIC_URL}/invited/${secrets.sign('waitlist_accept', payloadOf(person))}`

/** What people share. It opens the page to join on, and tells nothing of who shared it. */
export const referralUrl = (
  { config }: Pick<Services, 'config'>,
  { subdomain, site_domain }: Pick<ListRow, 'subdomain' | 'site_domain'>,
  code: string,
): string => `${site_domain === null ? `${config.PUBLIC_URL}/s/${subdomain}` : `https://${site_domain}`}/join?ref=${code}`

/** The link may be older than a merge that took the list into another project. */
export async function findKeyIn(
  { secrets }: Pick<Services, 'secrets'>,
  db: Queryable,
  { purpose, token }: { purpose: 'waitlist' | 'waitlist_accept'; token: string },
): Promise<SubscriberKey | null> {
  const payload = secrets.verify(purpose, token)
  if (payload?.length !== 48) return null
  const [project_id, list_id, subscriber_id] = [0, 16, 32].map((offset) => formatUuid(payload.subarray(offset, offset + 16)))
  return { list_id, subscriber_id, project_id: await findProjectNow(db, project_id as ProjectId) } as SubscriberKey
}
