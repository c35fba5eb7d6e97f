import { existsSync, readFileSync } from 'node:fs'
import type { Config } from '../base/config.ts'
import { createSecrets, secretKeyFile, writeSecretKey } from '../base/secrets.ts'
import type { Header } from '../database/backup/format.ts'
import { dataDirOf } from '../database/connect.ts'
import { findInstance } from '../features/identity/index.ts'
import { withDatabase } from './open.ts'
import { UsageError } from './usage.ts'

/**
 * The key that the backup's data was signed and encrypted with must be the one that this installation will use. Answers what has to be
 * written to make it so; null when nothing has.
 */
export function planSecretKey(config: Config, { secret_key, secret_fingerprint }: Header): { file: string; key: string } | null {
  const file = secretKeyFile(dataDirOf(config))
  const fits = (key: string) => secret_fingerprint === null || createSecrets(key).fingerprint === secret_fingerprint
  if (config.SECRET_KEY) {
    if (fits(config.SECRET_KEY)) return null
    throw new UsageError(
      secret_key
        ? 'SECRET_KEY is not the key that this backup was made with. The backup brings its own: unset SECRET_KEY, then restore again.'
        : 'SECRET_KEY is not the key that this backup was made with. Set it to that one, then restore again.',
    )
  }
  if (existsSync(file)) {
    if (fits(readFileSync(file, 'utf8').trim())) return null
    throw new UsageError(
      secret_key
        ? `${file} is not the key that this backup was made with. The backup brings its own: move that file away, then restore again.`
        : `${file} is not the key that this backup was made with. Set SECRET_KEY to that one, then restore again.`,
    )
  }
  if (secret_key) return { file, key: secret_key }
  if (secret_fingerprint === null) return null
  throw new UsageError('The backup does not hold the secret key it was made with. Set SECRET_KEY to that key, then restore again.')
}

/** Brings back a key that was lost while its database was not. */
export const restoreSecretKey = (header: Header): Promise<void> =>
  withDatabase(async ({ config, database, place }) => {
    const instance = await findInstance(database)
    if (instance && instance.secret_fingerprint !== header.secret_fingerprint)
      throw new UsageError(`The backup is of another installation: its secret key is not the one of ${place}.`)
    const planned = planSecretKey(config, header)
    if (!planned) return console.log('The secret key is there already. Nothing was changed.')
    writeSecretKey(planned.file, planned.key)
    console.log(`The secret key is in ${planned.file}. Nothing else was changed.`)
  })
