import { type DeliveryPurpose, parseDeliveryToken } from '../../base/delivery-token.ts'
import type { ProjectId } from '../../base/ids.ts'
import { rememberBriefly } from '../../base/recent.ts'
import type { Database, Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { findProjectNow } from '../agents/index.ts'
import type { MailKey, RecipientKey } from './recipient.ts'
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

/** A token, and what it is shown for: one from another place of the same mail is none. */
export interface Shown {
  token: string
  purpose: DeliveryPurpose | readonly DeliveryPurpose[]
}

/** The mail that a token stands in; null when it was not made here, or its project is gone. Whether the row is still there, its reader sees. */
export async function findMailKey(
  { secrets }: Pick<Services, 'secrets'>,
  { token, purpose }: Shown,
  findProject: FindProject,
): Promise<MailKey | null> {
  const parsed = parseDeliveryToken(secrets, purpose, token)
  const project_id = parsed && (await findProject(parsed.project_tail.toString('hex')))
  return project_id && ({ kind: parsed.kind, project_id, id: parsed.id } as MailKey)
}

/** Whom a token is for. Single mails belong to no list: there is nothing to leave, and nothing to follow. */
export async function findRecipientKey(
  services: Pick<Services, 'secrets'>,
  shown: Shown,
  findProject: FindProject,
): Promise<RecipientKey | null> {
  const key = await findMailKey(services, shown, findProject)
  return key?.kind === 'delivery' ? key : null
}
