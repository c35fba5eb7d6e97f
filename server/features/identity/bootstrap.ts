import { type Config, ConfigError } from '../../base/config.ts'
import { keyFromBackup, type Secrets } from '../../base/secrets.ts'
import type { Database } from '../../database/database.ts'
import { parseAddress } from '../../mail/address.ts'
import { scopes } from '../../operations/context.ts'
import { insertToken, makeKey } from '../tokens/index.ts'
import { findInstance, insertInstance, insertProject, insertUser, lockInstance } from './identity-queries.ts'
import { makeSignInLink } from './sign-in-link.ts'

export interface FirstStart {
  key: string
  signInUrl: string
}

/** On the very first start: makes the owner, the owner's project, a key with all scopes and a way to sign in. Null ever after. */
export function bootstrap(database: Database, config: Config, secrets: Secrets): Promise<FirstStart | null> {
  return database.transaction(async (tx) => {
    await lockInstance(tx)
    const instance = await findInstance(tx)
    if (instance) {
      refuseOtherSecret(instance.secret_fingerprint, secrets.fingerprint)
      return null
    }
    const owner = parseAddress(config.BOOTSTRAP_EMAIL)
    if (!owner.ok) throw new ConfigError(`BOOTSTRAP_EMAIL ${owner.problem}`)
    const owner_id = await insertUser(tx, { kind: 'human', email: owner.value.address, email_key: owner.value.key, slug: 'owner' })
    const project_id = await insertProject(tx, { name: 'My project', slug: 'owner', owner_id, plan: 'unlimited' })
    await insertInstance(tx, { owner_project_id: project_id, secret_fingerprint: secrets.fingerprint })
    const key = config.BOOTSTRAP_API_KEY ?? makeKey(false)
    await insertToken(tx, { project_id, user_id: owner_id, name: 'First key', key, scopes, mailbox_id: null, expires_at: null })
    return { key, signInUrl: await makeSignInLink(tx, config, owner_id) }
  })
}

/** With another key, links in mail already sent would stop working and stored secrets could not be read: better not to start. */
function refuseOtherSecret(stored: string, ours: string): void {
  if (stored === ours) return
  throw new ConfigError(
    `SECRET_KEY is not the one this database was set up with. Use the same SECRET_KEY (or the same DATA_DIR/secret.key) for all processes on one database. ${keyFromBackup}`,
  )
}
