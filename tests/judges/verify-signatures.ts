import { dkimVerify } from 'mailauth'
import type { Database } from '../../server/database/database.ts'
import { signingRecords } from '../../server/delivery/signing-keys.ts'

/** "posthaste.test rsa-sha256 pass" for each signature, by a verifier that is not ours, with the records as DNS would have them. */
export async function verifySignatures(database: Database, domain: string, raw: Buffer): Promise<string[]> {
  const records = await signingRecords(database, domain)
  const resolver = async (name: string, type: string) => {
    const found = type === 'TXT' ? records.filter((record) => record.name === name) : []
    if (found.length === 0) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return found.map(({ value }) => [value])
  }
  const { results } = await dkimVerify(raw, { resolver } as never)
  return results.map(({ status, signingDomain, algo }) => `${signingDomain} ${algo} ${status.result}`)
}

/** The names in h=, in lower case, of each signature. */
export const signedFields = (raw: Buffer): string[][] => {
  const header = (raw.toString('latin1').split('\r\n\r\n', 1)[0] ?? '').replace(/\r\n[ \t]+/g, ' ')
  return [...header.matchAll(/^DKIM-Signature:.*?\bh=([^;]*)/gim)].map(([, names = '']) =>
    names.toLowerCase().replace(/\s/g, '').split(':'),
  )
}
