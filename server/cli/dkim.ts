import { systemClock } from '../base/clock.ts'
import { createSecrets, loadSecretKey } from '../base/secrets.ts'
import { dataDirOf } from '../database/connect.ts'
import {
  ensureSigningKeys,
  recordStrings,
  retiredRecords,
  rotateSigningKeys,
  type SigningRecord,
  signingRecords,
} from '../delivery/signing-keys.ts'
import { findInstance } from '../features/identity/index.ts'
import { leaveCommandAuditRow } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { UsageError } from './usage.ts'

interface Input {
  ed25519: boolean | undefined
  rotate: boolean | undefined
}

/** The records alone go to standard output, as a zone file has them. */
export async function showDkim({ ed25519 = false, rotate = false }: Input): Promise<void> {
  await withDatabase(async ({ database, config }) => {
    const instance = await findInstance(database)
    if (!instance) throw new UsageError('This database has no owner yet. Run "posthaste start" once.')
    const parts = {
      database,
      clock: systemClock,
      secrets: createSecrets(loadSecretKey(config.SECRET_KEY, dataDirOf(config), { mayMake: false })),
    }
    const domain = config.MAIL_DOMAIN
    const project_id = instance.owner_project_id
    const wanted: Parameters<typeof ensureSigningKeys>[1] = {
      project_id,
      domain,
      algorithms: ed25519 ? ['rsa-sha256', 'ed25519-sha256'] : ['rsa-sha256'],
    }
    await (rotate ? rotateSigningKeys(parts, wanted) : ensureSigningKeys(parts, wanted))
    const operation = rotate ? 'dkim.rotate' : 'dkim.show'
    await database.transaction((tx) => leaveCommandAuditRow(tx, project_id, { operation, target: { domain } }))
    console.error(`Mail from ${domain} is signed with these keys within a minute. Put the records into its DNS zone:`)
    for (const record of await signingRecords(database, domain)) console.log(zoneLine(record))
    const retired = await retiredRecords(database, domain, systemClock.now())
    if (retired.length > 0) console.error('Leave these where they are for now: mail that they signed may still be on its way.')
    for (const { until, ...record } of retired) {
      console.error(`Until ${until.toISOString().slice(0, 10)}:`)
      console.log(zoneLine(record))
    }
  })
}

const zoneLine = ({ name, value }: SigningRecord): string =>
  `${name}. TXT ${recordStrings(value)
    .map((part) => `"${part}"`)
    .join(' ')}`
