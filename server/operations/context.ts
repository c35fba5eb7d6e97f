import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import type { GuardedFetch } from '../base/guarded-fetch/index.ts'
import type { KeyId, MailboxId, ProjectId, UserId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { Secrets } from '../base/secrets.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Database } from '../database/database.ts'
import type { Signers } from '../delivery/signing-keys.ts'
import type { Transport } from '../delivery/transports/index.ts'
import type { Dns } from '../dns/index.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Compiler } from '../mail/compile/index.ts'
import type { MailReader } from '../mail/inbound/mail-reader.ts'
import type { AuditTrail } from './audit.ts'

export const scopes = ['read', 'write', 'send', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** What each lets its holder do, in words that fit after "may". */
export const scopeWords: Record<Scope, string> = {
  read: 'see newsletters, subscribers, mail and numbers',
  write: 'create and change newsletters, subscribers and drafts',
  send: 'send mail',
  admin: 'change settings, billing, keys and the team',
}

/** What a member may be, and the most that a credential of theirs may do. Only an owner may end the project or make owners. */
export const roleScopes = {
  owner: scopes,
  admin: scopes,
  editor: ['read', 'write', 'send'],
  viewer: ['read'],
} as const satisfies Record<string, readonly Scope[]>
export type Role = keyof typeof roleScopes
export const roles = Object.keys(roleScopes) as [Role, ...Role[]]

/** What a credential may do now: what it was made for, as far as its owner's role still reaches. */
export const scopesWithin = (role: Role, wanted: readonly Scope[]): Scope[] =>
  wanted.filter((scope) => (roleScopes[role] as readonly Scope[]).includes(scope))

/** Who asks: the project is the tenant of every query that follows. */
export interface Caller {
  user_id: UserId
  project_id: ProjectId
  /** `owner/space`: where the project is reached at /{owner}/{space}/v1. */
  space: string
  role: Role
  /** Null for people in a browser and for apps they let in. */
  key_id: KeyId | null
  /** The grant of an app that a person let in, also for keys that the app has made: they end with it. */
  grant_id: string | null
  /** What requests are counted by: the key, or the app's grant. */
  counted_as: string
  /** Set for a key that is bound to one mailbox. */
  mailbox_id: MailboxId | null
  /** The mailbox that the agent behind a key was given: it may send from there without the scope to send. */
  agent_mailbox_id: MailboxId | null
  scopes: readonly Scope[]
  /** When the credential ends, if it does: what it makes must not outlive it. */
  expires_at: Date | null
}

/**
 * A credential that may do all that its owner may, as a browser that is signed in. A lesser key was handed out for one thing, and an app
 * was let into one project: neither sees what else the person has, nor commands it.
 */
export const standsForPerson = (caller: Pick<Caller, 'role' | 'scopes' | 'mailbox_id' | 'grant_id'>): boolean =>
  caller.mailbox_id === null && caller.grant_id === null && roleScopes[caller.role].every((scope) => caller.scopes.includes(scope))

/** What the program is made of; built once, in main.ts. */
export interface Services {
  database: Database
  clock: Clock
  log: Log
  config: Config
  secrets: Secrets
  jobs: Jobs
  transport: Transport
  signers: Signers
  compiler: Compiler
  reader: MailReader
  blobs: BlobStore
  /** The only way to an address that somebody else has named. */
  guardedFetch: GuardedFetch
  dns: Dns
}

/** What an operation's rule may use. It never sees HTTP. */
export interface Context extends Services {
  caller: Caller
  request_id: string
  request: RequestFacts
  /** Where the request came from, as limits count it: an IPv4 address, or the /64 of an IPv6 one. */
  peer: string
  /** `database` leaves it with the first change; only work that goes together with that of other requests does so by itself. */
  trail?: AuditTrail
}

/** For operations that ask for no credential. */
export interface OpenContext extends Services {
  request_id: string
  peer: string
}

/** What came beside the input, for operations that may be paid for and repeated. */
export interface RequestFacts {
  idempotency_key: string | null
  /** The credential of `Payment-Authorization: Payment …`, undecoded. */
  payment: string | null
  /** The caller is known by that credential alone, and came without a key. */
  isPayer?: boolean
  /** RFC 9530 digest of the body as it came: `sha-256=:…:`. */
  bodyDigest(): string
  /** For answers that take their time; left out where nobody can leave before the answer. */
  patience?: Patience
}

/** How long an answer is still wanted. */
export interface Patience {
  /** `Last-Event-ID`: where a stream that broke off is taken up again. */
  last_event_id: string | null
  /** Aborts when nobody waits any more: the client has left, or this process stops. */
  ended(): AbortSignal
  /** Whether the credential is still good for it. */
  isStillGood(): Promise<boolean>
}
