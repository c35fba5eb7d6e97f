import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import type { KeyId, MailboxId, ProjectId, UserId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { Secrets } from '../base/secrets.ts'
import type { Database } from '../database/database.ts'
import type { Jobs } from '../jobs/jobs.ts'

export const scopes = ['read', 'write', 'send', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** Who asks: the project is the tenant of every query that follows. */
export interface Caller {
  user_id: UserId
  project_id: ProjectId
  key_id: KeyId | null
  /** Set for a key that is bound to one mailbox. */
  mailbox_id: MailboxId | null
  scopes: readonly Scope[]
  /** When the credential ends, if it does: what it makes must not outlive it. */
  expires_at: Date | null
}

/** What the program is made of; built once, in main.ts. */
export interface Services {
  database: Database
  clock: Clock
  log: Log
  config: Config
  secrets: Secrets
  jobs: Jobs
}

/** What an operation's rule may use. It never sees HTTP. */
export interface Context extends Services {
  caller: Caller
  request_id: string
}
