import { type Clock, type Moment, momentOf, msSince } from '../base/clock.ts'
import { newId, type ProjectId } from '../base/ids.ts'
import type { Secrets } from '../base/secrets.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { dkimKeyFromPem, dkimKeyToPem, dkimRecord, dkimSelector, generateDkimKey } from '../mail/dkim/keys.ts'
import { createDkimSigner, type DkimAlgorithm, type DkimKey, type DkimSigner } from '../mail/dkim/sign.ts'
import { createSigningThreads } from '../mail/dkim/signing-threads.ts'
import { returnHostOf } from '../mail/verp.ts'

export { recordStrings } from '../mail/dkim/keys.ts'

/** In whose name mail is signed: a project's, from a domain of its own, or this installation's (null), from MAIL_DOMAIN. */
export interface Signatory {
  project_id: ProjectId | null
  domain: string
}

/** Who signs mail of a domain. Null where this installation has no key: then its relay signs. A project without one is an `UnverifiedDomain`. */
export interface Signers {
  signerFor(signatory: Signatory): Promise<DkimSigner | null>
}

/** What comes back to a name below the sender's domain is from a domain of the project's own; all else comes back to MAIL_DOMAIN. */
export const isFromOwnDomain = (domain: string, returnPath: string): boolean => returnPath.endsWith(`@${returnHostOf(domain)}`)

/** In its name nothing leaves: unsigned it would be taken for forged, and signed by another project it would be. */
export class UnverifiedDomain extends Error {
  constructor(domain: string) {
    super(`${domain} is not verified for this project now, and receivers would take the mail for forged. It waits until the domain is`)
  }
}

/** What has to be mended before mail of a domain can be signed, in words for whoever can do that. */
export class UnusableKey extends Error {
  constructor({ domain, selector }: KeyRow, cause: unknown) {
    super(
      `The DKIM key ${selector} of ${domain} cannot be used; is SECRET_KEY the one that it was made with? "posthaste dkim --rotate" makes a new key`,
      { cause },
    )
  }
}

interface KeyRow {
  id: string
  domain: string
  selector: string
  algorithm: DkimAlgorithm
  private_key: Buffer
  public_key: string
}

interface Parts {
  database: Database
  secrets: Secrets
  clock: Clock
}

/** A new or rotated key is used within a minute on every node. */
const trustedForMs = 60_000

/** Of a key `k`: it was made for MAIL_DOMAIN, by whoever runs this installation, and for no sender of a list. */
const isOfInstallation = sql`(k.project_id = (select owner_project_id from instance) or not exists (
  select 1 from sender_domains d where d.project_id = k.project_id and d.domain = k.domain))`
/** It is the key of who has the domain, and nobody else's. */
const isOfProject = (project_id: ProjectId) => sql`k.project_id = ${project_id} and exists (
  select 1 from sender_domains d where d.project_id = k.project_id and d.domain = k.domain and d.status = 'verified')`

const activeKeys = (db: Queryable, { project_id, domain }: Signatory) => db.many<KeyRow>`
  select id, domain, selector, algorithm, private_key, public_key from dkim_keys k
  where domain = ${domain} and status = 'active' and ${project_id === null ? isOfInstallation : isOfProject(project_id)} order by algorithm desc`

const keysOfInstallation = (db: Queryable, domain: string) => activeKeys(db, { project_id: null, domain })

export function createSigners({ database, secrets, clock }: Parts): Signers {
  const signText = createSigningThreads()
  const known = new Map<string, { signer: Promise<DkimSigner | null>; at: Moment }>()
  const openKey = (row: KeyRow): DkimKey => {
    try {
      return dkimKeyFromPem(row.selector, secrets.open('dkim', row.id, row.private_key))
    } catch (error) {
      throw new UnusableKey(row, error)
    }
  }
  const load = async (signatory: Signatory): Promise<DkimSigner | null> => {
    const { project_id, domain } = signatory
    const rows = await activeKeys(database, signatory)
    if (rows.length > 0) return createDkimSigner({ domain, keys: rows.map(openKey), clock, signText })
    if (project_id === null) return null
    throw new UnverifiedDomain(domain)
  }
  return {
    signerFor(signatory) {
      const name = signatory.project_id === null ? signatory.domain : `${signatory.project_id} ${signatory.domain}`
      const remembered = known.get(name)
      if (remembered && msSince(remembered.at, clock) < trustedForMs) return remembered.signer
      const signer = load(signatory)
      known.set(name, { signer, at: momentOf(clock) })
      signer.catch(() => known.delete(name))
      return signer
    },
  }
}

interface Wanted {
  project_id: ProjectId
  domain: string
  algorithms: DkimAlgorithm[]
}

/** Makes the keys that a domain lacks. Two processes that start at once make one. */
export async function ensureSigningKeys(parts: Parts, { project_id, domain, algorithms }: Wanted): Promise<void> {
  const has = await algorithmsOf(parts.database, domain)
  for (const key of await makeKeys(algorithms.filter((one) => !has.includes(one))))
    await parts.database.transaction((tx) => insertKey(parts, tx, { project_id, domain, key }))
}

/**
 * New keys take the place of those that there are, all at once: at no moment is mail without a signature. The records of the old ones
 * have to stay in DNS until the last mail that they signed has arrived.
 */
export async function rotateSigningKeys(parts: Parts, { project_id, domain, algorithms }: Wanted): Promise<void> {
  const { database } = parts
  const all = new Set([...algorithms, ...(await algorithmsOf(database, domain))])
  const keys = await makeKeys([...all])
  await database.transaction(async (tx) => {
    await tx.run`update dkim_keys k set status = 'retired', retired_at = ${tx.now} where domain = ${domain} and status = 'active' and ${isOfInstallation}`
    for (const key of keys) await insertKey(parts, tx, { project_id, domain, key })
  })
}

const algorithmsOf = async (db: Queryable, domain: string): Promise<DkimAlgorithm[]> =>
  (await keysOfInstallation(db, domain)).map(({ algorithm }) => algorithm)

/** Before any transaction: one takes a tenth of a second of computing. */
export const makeKeys = (algorithms: DkimAlgorithm[]): Promise<DkimKey[]> =>
  Promise.all(algorithms.map((algorithm) => generateDkimKey(algorithm, '')))

interface NewKey {
  project_id: ProjectId
  domain: string
  key: DkimKey
  status?: 'pending' | 'active'
  /** Tells apart those of two projects, where both may name the domain. */
  suffix?: string
}

/** A selector names the day; the second of a day gets a number, since the first may still be in DNS, and in mail on its way. */
export async function insertKey({ secrets }: Pick<Parts, 'secrets'>, tx: Transaction, newKey: NewKey): Promise<void> {
  const { project_id, domain, key, status = 'active', suffix = '' } = newKey
  const { algorithm } = key
  const name = dkimSelector(algorithm, tx.now) + suffix
  const rows = await tx.many<{
    selector: string
  }>`select selector from dkim_keys where domain = ${domain} and starts_with(selector, ${name})`
  const taken = new Set(rows.map(({ selector }) => selector))
  let selector = name
  for (let number = 2; taken.has(selector); number++) selector = `${name}${number}`
  const id = newId()
  await tx.run`
    insert into dkim_keys (project_id, id, domain, selector, algorithm, private_key, public_key, status, created_at)
    values (${project_id}, ${id}, ${domain}, ${selector}, ${algorithm}, ${secrets.seal('dkim', id, dkimKeyToPem(key))}, ${dkimRecord(key)}, ${status}, ${tx.now})
    on conflict do nothing`
}

export interface SigningRecord {
  name: string
  value: string
}

const toRecord = ({ selector, domain, public_key }: KeyRow): SigningRecord => ({
  name: `${selector}._domainkey.${domain}`,
  value: public_key,
})

/** What belongs into DNS: `selector._domainkey.domain TXT record`. */
export const signingRecords = async (db: Queryable, domain: string): Promise<SigningRecord[]> =>
  (await keysOfInstallation(db, domain)).map(toRecord)

/** Longer than any mail is tried, and than most who look at a signature late. */
const retiredDays = 14

/** What has to stay in DNS for a while, and until when. */
export const retiredRecords = async (db: Queryable, domain: string, now: Date): Promise<(SigningRecord & { until: Date })[]> => {
  const rows = await db.many<KeyRow & { until: Date }>`
    select *, retired_at + ${retiredDays}::integer * interval '1 day' as until from dkim_keys
    where domain = ${domain} and status = 'retired' and retired_at > ${now}::timestamptz - ${retiredDays}::integer * interval '1 day'
    order by retired_at desc, algorithm desc`
  return rows.map((row) => ({ ...toRecord(row), until: row.until }))
}
