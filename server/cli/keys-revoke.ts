import { parseId } from '../base/ids.ts'
import { removeToken } from '../features/tokens/index.ts'
import { findProject, leaveCommandAuditRow } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { UsageError } from './usage.ts'

export async function revokeKey({ id: text, project: slug }: { id: string; project: string | undefined }): Promise<void> {
  const id = parseId('key', text)
  if (!id) throw new UsageError(`"${text}" is not the id of a key: those begin with key_, and "posthaste keys list" shows them.`)
  await withDatabase(async ({ database }) => {
    const project = await findProject(database, slug)
    await database.transaction(async (tx) => {
      if (!(await removeToken(tx, project.id, id)))
        throw new UsageError(`Project "${project.slug}" has no key ${text}. "posthaste keys list" shows them.`)
      await leaveCommandAuditRow(tx, project.id, { operation: 'tokens.delete', target: { id: text } })
    })
    console.log(`${text} is revoked; it stops working everywhere within a second.`)
  })
}
