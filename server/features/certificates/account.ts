import { createPrivateKey } from 'node:crypto'
import { type Acme, type AcmeAccount, newKey } from '../../acme/index.ts'
import type { Services } from '../../operations/context.ts'
import { findAccount, keepAccount, setAccountUrl } from './certificate-queries.ts'

/** Our account with this authority, made on the first use. Its key is kept before the authority hears of it. */
export async function ensureAccount(
  services: Pick<Services, 'database' | 'secrets' | 'clock' | 'config'>,
  acme: Acme,
): Promise<AcmeAccount> {
  const { database, secrets, clock, config } = services
  const directory = acme.directoryUrl
  const row =
    (await findAccount(database, directory)) ??
    (await keepAccount(database, { directory, private_key: secrets.seal('acme_account', directory, pemOf(newKey())), now: clock.now() }))
  const key = createPrivateKey(secrets.open('acme_account', directory, row.private_key))
  if (row.url !== null) return { key, url: row.url }
  // With a key that it knows, the authority answers with the account that there is (RFC 8555 section 7.3.1).
  const url = await acme.newAccount(key, config.ACME_EMAIL)
  await setAccountUrl(database, { directory, url })
  return { key, url }
}

export const pemOf = (key: ReturnType<typeof newKey>): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()
