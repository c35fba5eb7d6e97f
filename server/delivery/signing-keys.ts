import type { Clock } from '../base/clock.ts'
import { newId, type ProjectId } from '../base/ids.ts'
import type { Secrets } from '../base/secrets.ts'
import type { Database, Queryable } from '../database/database.ts'
import { dkimKeyFromPem, dkimKeyToPem, dkimRecord, dkimSelector, generateDkimKey } from '../mail/dkim/keys.ts'
import { createDkimSigner, type DkimAlgorithm, type DkimSigner } from '../mail/dkim/sign.ts'

/** Who signs mail of a domain; null for a domain that has no key here. */
export interface Signers {
  signerFor(domain: string): Promise<DkimSigner | null>
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

/** Without a project: whoever may send from a domain was asked when the mailbox was made. */
const activeKeys = (db: Queryable, domain: string) => db.many<KeyRow>`
  select id, domain, selector, algorithm, private_key, public_key from dkim_keys where domain = ${domain} and status = 'active' order by algorithm desc`

export function createSigners({ database, secrets, clock }: Parts): Signers {
  const known = new Map<string, { signer: Promise<DkimSigner | null>; until: number }>()
  const load = async (domain: string): Promise<DkimSigner | null> => {
    const rows = await activeKeys(database, domain)
    if (rows.length === 0) return null
    const keys = rows.map((row) => dkimKeyFromPem(row.selector, secrets.open('dkim', row.id, row.private_key)))
    return createDkimSigner({ domain, keys, clock })
  }
  return {
    signerFor(domain) {
      const at = performance.now()
      const remembered = known.get(domain)
      if (remembered && remembered.until > at) return remembered.signer
      const signer = load(domain)
      known.set(domain, { signer, until: at + trustedForMs })
      signer.catch(() => known.delete(domain))
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
export async function ensureSigningKeys({ database, secrets }: Parts, { project_id, domain, algorithms }: Wanted): Promise<void> {
  const has = new Set((await activeKeys(database, domain)).map(({ algorithm }) => algorithm))
  for (const algorithm of algorithms.filter((one) => !has.has(one))) {
    // Made before the transaction: it takes a tenth of a second of computing.
    const pair = await generateDkimKey(algorithm, '')
    await database.transaction(async (tx) => {
      const id = newId()
      const sealed = secrets.seal('dkim', id, dkimKeyToPem(pair))
      await tx.run`
        insert into dkim_keys (project_id, id, domain, selector, algorithm, private_key, public_key, created_at)
        values (${project_id}, ${id}, ${domain}, ${dkimSelector(algorithm, tx.now)}, ${algorithm}, ${sealed}, ${dkimRecord(pair)}, ${tx.now})
        on conflict do nothing`
    })
  }
}

/** New ones take their place; their records should stay in DNS until the last mail that they signed has arrived. */
export const retireSigningKeys = (db: Queryable, domain: string) => db.run`
  update dkim_keys set status = 'retired', retired_at = now() where domain = ${domain} and status = 'active'`

/** What belongs into DNS: `selector._domainkey.domain TXT record`. */
export const signingRecords = async (db: Queryable, domain: string): Promise<{ name: string; value: string }[]> =>
  (await activeKeys(db, domain)).map(({ selector, public_key }) => ({ name: `${selector}._domainkey.${domain}`, value: public_key }))
