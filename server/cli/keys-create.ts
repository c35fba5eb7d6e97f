import { z } from 'zod'
import { formatId } from '../base/ids.ts'
import { insertToken, makeKey, NewToken } from '../features/tokens/index.ts'
import { checkInput } from '../operations/check-input.ts'
import { scopes } from '../operations/context.ts'
import { findMailboxByAddress, findProject, leaveCommandAuditRow } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { UsageError } from './usage.ts'

interface Input {
  name: string | undefined
  scope: string | undefined
  project: string | undefined
  mailbox: string | undefined
  expires: string | undefined
}

/** The key alone goes to standard output: `KEY=$(npx posthaste keys create)`. */
export async function createKey({
  name = 'command line',
  scope = scopes.join(','),
  project: slug,
  mailbox,
  expires,
}: Input): Promise<void> {
  const wanted = checkInput(NewToken, { name, scope }, 'body')
  const expires_at = expires === undefined ? null : readDate(expires)
  await withDatabase(async ({ database }) => {
    const project = await findProject(database, slug)
    const { id, key } = await database.transaction(async (tx) => {
      const mailbox_id = mailbox === undefined ? null : (await findMailboxByAddress(tx, project.id, mailbox)).id
      const key = makeKey(mailbox_id !== null)
      const row = {
        project_id: project.id,
        user_id: project.owner_id,
        name: wanted.name,
        key,
        scopes: wanted.scope,
        mailbox_id,
        expires_at,
      }
      const token = await insertToken(tx, row)
      const id = formatId('key', token!.id) // an insert without conflict clause always returns its row
      await leaveCommandAuditRow(tx, project.id, { operation: 'tokens.create', target: { id } })
      return { id, key }
    })
    console.error(
      `${id} in project "${project.slug}": ${wanted.scope.join(', ')}${expires_at ? `; until ${expires_at.toISOString()}` : ''}`,
    )
    console.error('The key follows. It is shown this once: keep it.')
    console.log(key)
  })
}

const day = z.iso.date()
const time = z.iso.datetime({ offset: true })

/** A day begins at midnight in UTC. */
function readDate(text: string): Date {
  if (!day.safeParse(text).success && !time.safeParse(text).success)
    throw new UsageError(`--expires is "${text}", but must be a day, such as 2027-01-31, or a time with its offset, 2027-01-31T09:00:00Z.`)
  const date = new Date(text)
  if (date <= new Date()) throw new UsageError(`--expires is "${text}", which is over.`)
  return date
}
