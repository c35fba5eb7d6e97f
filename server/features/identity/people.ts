import type { ProjectId, UserId } from '../../base/ids.ts'
import { reservedNames, slugOf } from '../../base/slug.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { mailboxKeyOf } from '../../mail/address.ts'
import type { Services } from '../../operations/context.ts'
import { findHomeProject, findUserByAddress, insertProject, insertUser, takenSlugs } from './identity-queries.ts'

export interface Person {
  user_id: UserId
  project_id: ProjectId
  isNew: boolean
}

/** Whoever proved that an address is theirs: their account and home project, made now if there are none yet. */
export async function findOrCreatePerson(tx: Transaction, address: { address: string; key: string }): Promise<Person> {
  // Two proofs of one new address at the same moment make one account.
  await tx.run`select pg_advisory_xact_lock(hashtextextended(${`person ${address.key}`}, 0))`
  const known = await findUserByAddress(tx, address.key)
  const home = known && (await findHomeProject(tx, known.id))
  if (known && home) return { user_id: known.id, project_id: home.id, isNew: false }
  const slug = await freeSlug(tx, address.key.slice(0, address.key.lastIndexOf('@')))
  const user_id = known?.id ?? (await insertUser(tx, { kind: 'human', email: address.address, email_key: address.key, slug }))
  const project_id = await insertProject(tx, { name: 'My project', slug, owner_id: user_id, plan: 'free' })
  return { user_id, project_id, isNew: !known }
}

/** `name`, `name-2`, …: the first that neither a person nor a project has. */
export async function freeSlug(tx: Transaction, name: string): Promise<string> {
  const wanted = slugOf(name) || 'someone'
  const base = reservedNames.has(wanted) ? `${wanted}-1` : wanted
  const taken = await takenSlugs(tx, base.replace(/(-\d+)+$/, '') || base)
  let slug = base
  for (let number = 2; taken.has(slug); number++) slug = `${base}-${number}`
  return slug
}

/**
 * Whether an address may become somebody's, or is. With SIGN_UPS=invited an open invitation is needed; those are good for fourteen days.
 * A mailbox of this installation proves nobody: agents and lists have them.
 */
export const mayComeIn = async (
  { config, clock }: Pick<Services, 'config' | 'clock'>,
  db: Queryable,
  email_key: string,
): Promise<boolean> => {
  const known = await db.first<{ is_user: boolean; is_mailbox: boolean; is_invited: boolean }>`
    select exists (select 1 from users where email_key = ${email_key}) as is_user,
      exists (select 1 from mailboxes where address_key = ${mailboxKeyOf(email_key)} and deleted_at is null) as is_mailbox,
      exists (
        select 1 from invites
        where email_key = ${email_key} and status = 'pending' and created_at > ${clock.now()}::timestamptz - interval '14 days') as is_invited`
  if (known?.is_user) return true
  return !known?.is_mailbox && (config.SIGN_UPS === 'open' || known?.is_invited === true)
}
