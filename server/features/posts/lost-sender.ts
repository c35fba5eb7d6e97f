import { invalid } from '../../base/errors.ts'
import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findLostSender, type PostKey } from './post-queries.ts'

/** What was begun from a domain of the project's own goes on only while that is verified: unsigned, it would be taken for forged. */
export async function refuseLostSender(
  { config }: Pick<Services, 'config'>,
  db: Queryable,
  key: Pick<PostKey, 'project_id' | 'post_id'>,
): Promise<void> {
  const begun = await findLostSender(db, { ...key, mailDomain: config.MAIL_DOMAIN })
  if (!begun) return
  throw invalid(
    'sender',
    `the DNS records of ${begun.from_domain}, which this post was begun from, are gone. Mend them, and it goes on by itself; or abort it`,
  )
}
