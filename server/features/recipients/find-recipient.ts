import { parseDeliveryToken } from '../../base/delivery-token.ts'
import type { DeliveryId, ProjectId } from '../../base/ids.ts'
import { rememberBriefly } from '../../base/recent.ts'
import type { Database, Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findProjectNow } from '../agents/index.ts'
import type { RecipientKey } from './recipient.ts'
import { findProjectByTail } from './recipient-queries.ts'

/** The project that a token's half of an id, in hexadecimal, stands for. */
export type FindProject = (tail: string) => Promise<ProjectId | null>

/** Where the things of that project are now: the mail may be older than a merge. */
export const projectFinder =
  (db: Queryable): FindProject =>
  async (tail) => {
    const project = await findProjectByTail(db, Buffer.from(tail, 'hex'))
    return project && findProjectNow(db, project.id)
  }

/** For what a million readers may do at once: one project is looked up twice a second at most. */
export const cachedProjectFinder = (database: Database): FindProject => rememberBriefly(projectFinder(database))

/** Whom a token is for; null when it was not made here, or its project is gone. Whether the row is still there, its reader sees. */
export async function findRecipientKey(
  { secrets }: Pick<Services, 'secrets'>,
  token: string,
  findProject: FindProject,
): Promise<RecipientKey | null> {
  const parsed = parseDeliveryToken(secrets, token)
  // Single mails (`email`) belong to no list: there is nothing to leave.
  if (parsed?.kind !== 'delivery') return null
  const project_id = await findProject(parsed.project_tail.toString('hex'))
  return project_id && { project_id, id: parsed.id as DeliveryId }
}
