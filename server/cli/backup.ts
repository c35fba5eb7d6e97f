import { existsSync, readFileSync } from 'node:fs'
import type { Config } from '../base/config.ts'
import { createSecrets, secretKeyFile } from '../base/secrets.ts'
import { writeBackup } from '../database/backup/write-backup.ts'
import { dataDirOf } from '../database/connect.ts'
import { findInstance } from '../features/identity/index.ts'
import { findStored } from '../features/raw-mail/index.ts'
import { queuedJobs } from '../jobs/queued-jobs.ts'
import { appVersion } from './app-version.ts'
import { withDatabase } from './open.ts'
import { writeWhole } from './output-file.ts'
import { count, createProgress, duration, megabytes } from './progress.ts'
import { notInBackup } from './raw-messages.ts'
import { UsageError } from './usage.ts'

export async function backup({ file }: { file: string }): Promise<void> {
  if (file === '-' && process.stdout.isTTY) throw new UsageError('Standard output is a terminal: name a file, or pipe it on.')
  await withDatabase(async ({ config, connection, database }) => {
    const secret_fingerprint = (await findInstance(database))?.secret_fingerprint ?? null
    const secret_key = generatedKey(config, secret_fingerprint)
    const began = performance.now()
    const progress = createProgress('Backing up')
    // A count over all mail may take longer than a question may: the backup is made without it.
    const stored = await findStored(database).catch(() => null)
    const raw_messages = stored && { messages: stored.messages, bytes: stored.bytes }
    const about = { app_version: appVersion(), secret_fingerprint, secret_key, ...(raw_messages ? { raw_messages } : {}) }
    const { rows, bytes } = await writeWhole(file, (output) =>
      writeBackup({ connection, output, about, jobs: queuedJobs, onProgress: progress.show }),
    ).finally(progress.end)
    const total = Object.values(rows).reduce((sum, number) => sum + number, 0)
    // Standard output may be the backup itself.
    console.error(`Backed up ${count(total)} rows, ${megabytes(bytes)} before compression, in ${duration(performance.now() - began)}.`)
    for (const line of [aboutSecret(config, about), ...notInBackup(config, raw_messages)]) console.error(line)
  })
}

function aboutSecret(config: Config, { secret_key, secret_fingerprint }: { secret_key: string | null; secret_fingerprint: string | null }) {
  if (secret_key) return 'The secret key is inside: whoever has the file can sign and read everything. Keep it safe.'
  if (config.SECRET_KEY) return 'SECRET_KEY is not inside. Keep it as well: the backup cannot be used without it.'
  return secret_fingerprint === null
    ? 'There was no secret key to save yet.'
    : 'The secret key of this database is not here, so it is not inside. Keep it as well: the backup cannot be used without it.'
}

/** The key that Posthaste made itself, if it is the one of this database. One from the environment is kept where it comes from. */
function generatedKey(config: Config, fingerprint: string | null): string | null {
  const file = secretKeyFile(dataDirOf(config))
  if (config.SECRET_KEY || !existsSync(file)) return null
  const key = readFileSync(file, 'utf8').trim()
  return fingerprint === null || createSecrets(key).fingerprint === fingerprint ? key : null
}
