import type { Queryable } from '../database/database.ts'
import { findHomeProject, findInstance, findUser, findUserByAddress, makeSignInLink, type UserRow } from '../features/identity/index.ts'
import { email as emailSchema } from '../operations/schemas.ts'
import { leaveCommandAuditRow } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { UsageError } from './usage.ts'

/** The link alone goes to standard output: `xdg-open $(npx posthaste sign-in)`. */
export function printSignInLink({ email }: { email: string | undefined }): Promise<void> {
  return withDatabase(async ({ database, config }) => {
    const user = email === undefined ? await findOwner(database) : await findPerson(database, email)
    const url = await database.transaction(async (tx) => {
      const home = await findHomeProject(tx, user.id)
      if (home) await leaveCommandAuditRow(tx, home.id, { operation: 'sign_in_links.create', target: {} })
      return makeSignInLink(tx, config, user.id)
    })
    console.error(`Signs in ${user.email}: open it within an hour and press the button. It works once.`)
    console.log(url)
  })
}

async function findOwner(db: Queryable): Promise<UserRow> {
  const instance = await findInstance(db)
  const owner = instance && (await findUser(db, instance.owner_id))
  if (!owner) throw new UsageError('This database has no owner yet. Run "posthaste start" once.')
  return owner
}

/** A person who is not there yet is not made here: they sign in by mail, or are invited. */
async function findPerson(db: Queryable, address: string): Promise<UserRow> {
  const parsed = emailSchema.safeParse(address)
  if (!parsed.success) throw new UsageError(`--email: ${parsed.error.issues[0]?.message ?? 'is not an e-mail address'}.`)
  const user = await findUserByAddress(db, parsed.data.key)
  if (user?.kind !== 'human') throw new UsageError(`There is no account for ${address}. It is made when somebody signs in with it.`)
  if (user.disabled_at) throw new UsageError(`The account of ${address} is switched off.`)
  return user
}
