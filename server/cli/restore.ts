import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { writeSecretKey } from '../base/secrets.ts'
import { BackupError, type Header, type Trailer } from '../database/backup/format.ts'
import { verifyBackup } from '../database/backup/read-backup.ts'
import { restoreBackup } from '../database/backup/restore-backup.ts'
import { refuseRunningPosthaste, refuseUnfit } from '../database/backup/target.ts'
import { readMigrations } from '../database/migrate.ts'
import { allJobs } from '../jobs/all-jobs.ts'
import { type JobQueue, openJobQueue, type Requeued } from '../jobs/queued-jobs.ts'
import { type Open, readSetup, withClient, withPool, withServer } from './open.ts'
import { count, createProgress, duration, megabytes } from './progress.ts'
import { amountOf, besideRestore } from './raw-messages.ts'
import { planSecretKey, restoreSecretKey } from './restore-secret.ts'
import { UsageError } from './usage.ts'

interface Input {
  file: string
  check: boolean
  force: boolean
  'secret-key': boolean
}

/** Nothing is changed before the whole file has been read and found good. */
export async function restore({ file, check, force, 'secret-key': isKeyOnly }: Input): Promise<void> {
  await forPeople(() =>
    withFile(file, async (path) => {
      const { header, trailer } = await verify(path)
      if (check) return tellContent(header, trailer)
      if (isKeyOnly) return restoreSecretKey(header)
      const setup = readSetup()
      const secret = planSecretKey(setup.config, header)
      await withServer({ ...setup, mayCreate: true }, async (server) => {
        if (server.isShared) throw new UsageError(`A Posthaste is running on ${server.place}. Stop it, then restore.`)
        await withClient(server.connection, async (client) => {
          await refuseRunningPosthaste(client)
          // Asked again in the restore's own transaction; here, before the job queue's tables are made.
          await refuseUnfit(client, readMigrations(), force)
        })
        await withPool(setup, server, (open) => load(open, { path, header, force, secret }))
      })
    }),
  )
}

interface Plan {
  path: string
  header: Header
  force: boolean
  secret: ReturnType<typeof planSecretKey>
}

async function load({ config, connection, database, log, place }: Open, { path, header, force, secret }: Plan): Promise<void> {
  const began = performance.now()
  const progress = createProgress('Restoring')
  const of = statSync(path).size
  const queue = await openJobQueue(database, log, allJobs)
  let jobs: Requeued = { queued: 0, dropped: 0 }
  try {
    const finish = async (client: Parameters<JobQueue['requeue']>[0]) => {
      jobs = await queue.requeue(client)
      // On the disk before the data that needs it is.
      if (secret) writeSecretKey(secret.file, secret.key)
    }
    const onBytes = (bytes: number) => progress.show({ bytes, of })
    const { rows, foreign } = await restoreBackup({ connection, path, header, force, onBytes, onPhase: progress.say, finish })
    progress.end()
    console.log(`Restored ${count(rows)} rows into ${place} in ${duration(performance.now() - began)}. "posthaste start" runs it.`)
    if (secret) console.log(`The secret key is in ${secret.file}.`)
    if (jobs.dropped > 0) console.log(`Left out ${count(jobs.dropped)} queued jobs of kinds that this release does not know.`)
    if (foreign.length > 0) console.log(`Left out tables that Posthaste did not make: ${foreign.join(', ')}.`)
    for (const line of await besideRestore(config, database)) console.log(line)
  } finally {
    progress.end()
    await queue.stop()
  }
}

async function verify(path: string): Promise<{ header: Header; trailer: Trailer }> {
  const progress = createProgress('Checking')
  const of = statSync(path).size
  return verifyBackup(path, (bytes) => progress.show({ bytes, of })).finally(progress.end)
}

function tellContent(header: Header, { rows }: Trailer): void {
  console.log(`The file is whole. Made ${header.created_at} by Posthaste ${header.app_version}, at migration ${header.migration}.`)
  console.log(`The secret key is ${header.secret_key ? '' : 'not '}inside.`)
  const { raw_messages } = header
  if (raw_messages && raw_messages.messages > 0)
    console.log(`Not inside: ${amountOf(raw_messages)}, in DATA_DIR/blobs or in the store that BLOB_URL named. Keep that as well.`)
  for (const [name, number] of Object.entries(rows)) if (number > 0) console.log(`  ${name.padEnd(24)} ${count(number).padStart(12)}`)
}

/** The file is read twice, so what comes by standard input is kept on the disk meanwhile. */
async function withFile(file: string, work: (path: string) => Promise<void>): Promise<void> {
  if (file !== '-') {
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new UsageError(`There is no file ${file}.`)
    return work(file)
  }
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-restore-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  try {
    const path = join(folder, 'backup')
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }))
    console.error(`Read ${megabytes(statSync(path).size)}.`)
    await work(path)
  } finally {
    process.off('exit', remove)
    remove()
  }
}

async function forPeople(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw error instanceof BackupError ? new UsageError(error.message, { cause: error }) : error
  }
}
