import type { Services } from '../../operations/context.ts'
import { type FindProject, findRecipientKey } from './find-recipient.ts'
import { findLink } from './recipient-queries.ts'

/** `smallint` in the database, and far more links than a mail has. */
const maxNumber = 32_767

/** Where a tracked link leads: to an address that the author put into that mail, and nowhere else. Null for all others. */
export async function findTarget(
  services: Pick<Services, 'database' | 'secrets'>,
  { token, number }: { token: string; number: string },
  findProject: FindProject,
): Promise<string | null> {
  if (!/^\d{1,5}$/.test(number) || Number(number) > maxNumber) return null
  const key = await findRecipientKey(services, { token, purpose: 'click' }, findProject)
  const link = key && (await findLink(services.database, key, Number(number)))
  return link?.url ?? null
}
