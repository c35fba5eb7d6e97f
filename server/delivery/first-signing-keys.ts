import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import type { ProjectId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { Secrets } from '../base/secrets.ts'
import { isForTrials } from '../base/trial-name.ts'
import type { Database } from '../database/database.ts'
import { ensureSigningKeys, signingRecords } from './signing-keys.ts'

interface Needs {
  config: Pick<Config, 'OUTBOUND' | 'MAIL_DOMAIN'>
  database: Database
  secrets: Secrets
  clock: Clock
  log: Log
}

/** Whether mail leaves signed by us: what is captured need not be, Amazon signs by itself, and a name for trials has no zone for the record. */
export const signsMail = ({ OUTBOUND, MAIL_DOMAIN }: Needs['config']): boolean =>
  OUTBOUND !== 'capture' && !OUTBOUND.startsWith('ses:') && !isForTrials(MAIL_DOMAIN)

/** The first time that mail leaves from MAIL_DOMAIN in earnest: nobody should have to know that it wants signing. */
export async function makeFirstSigningKeys({ config, log, ...parts }: Needs, project_id: ProjectId): Promise<void> {
  const domain = config.MAIL_DOMAIN
  if (!signsMail(config) || (await signingRecords(parts.database, domain)).length > 0) return
  await ensureSigningKeys(parts, { project_id, domain, algorithms: ['rsa-sha256'] })
  const records = (await signingRecords(parts.database, domain)).map(({ name }) => name)
  log.warn({ records }, `mail from ${domain} is signed from now on: "posthaste dkim" shows the record that its DNS needs for that`)
}
