import type { Config } from '../../base/config.ts'
import type { UserId } from '../../base/ids.ts'
import { hashOfSecret, makeSecret } from '../../base/secrets.ts'
import type { Queryable, Transaction } from '../../database/database.ts'

const validMs = 60 * 60_000

/** A link that signs somebody in once, for whoever has this machine before them: the first start and the command line print it. */
export async function makeSignInLink(tx: Transaction, config: Pick<Config, 'AUTH_URL'>, user_id: UserId): Promise<string> {
  const secret = makeSecret()
  const expires_at = new Date(tx.now.getTime() + validMs)
  await tx.run`insert into sign_in_links (hash, user_id, expires_at) values (${hashOfSecret(secret)}, ${user_id}, ${expires_at})`
  return `${config.AUTH_URL}/sign-in/link/${secret}`
}

/** Looking changes nothing. */
export const isSignInLink = async (db: Queryable, secret: string, now: Date): Promise<boolean> =>
  (await db.first`select 1 from sign_in_links where hash = ${hashOfSecret(secret)} and expires_at > ${now}`) !== null

/** Whose link it is, and it is used up: whoever comes second finds nothing. */
export async function takeSignInLink(tx: Transaction, secret: string): Promise<UserId | null> {
  const taken = await tx.first<{ user_id: UserId }>`
    delete from sign_in_links where hash = ${hashOfSecret(secret)} and expires_at > ${tx.now} returning user_id`
  return taken?.user_id ?? null
}

export const pruneSignInLinks = (db: Queryable, now: Date) => db.run`delete from sign_in_links where expires_at < ${now}`
