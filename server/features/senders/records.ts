import type { Config } from '../../base/config.ts'
import type { DomainKey } from '../../delivery/control.ts'
import { returnHostOf } from '../../mail/verp.ts'
import type { Case, WantedRecord } from '../dns-records/index.ts'

/** What a sender's domain needs. The key of a DKIM record is the id of its key. */
export interface SenderRecord extends WantedRecord {
  kind: 'dkim' | 'return_path' | 'dmarc' | 'mx'
  /** A key that waits to take the place of the one in use. */
  isSuccessor?: boolean
}

export type SenderCase = Case<SenderRecord>

export interface Wanted {
  domain: string
  keys: DomainKey[]
  /** Whether a mailbox here has an address at the domain. */
  receives: boolean
}

type Settings = Pick<Config, 'MAIL_DOMAIN' | 'MX_HOST'>

/** Where customers' return paths point at; the operator gives this name an MX and an SPF record. */
export const returnTargetOf = ({ MAIL_DOMAIN }: Pick<Settings, 'MAIL_DOMAIN'>): string => `rp.${MAIL_DOMAIN}`

/** In the order in which a person adds them. */
export function recordsFor(settings: Settings, { domain, keys, receives }: Wanted): SenderRecord[] {
  return [
    ...keys.map((key) => dkimRecordFor(key, keys)),
    {
      key: 'return_path',
      kind: 'return_path',
      type: 'CNAME',
      name: returnHostOf(domain),
      value: returnTargetOf(settings),
      purpose: 'Return path: bounces come back here, and SPF vouches for your domain.',
      isRequired: true,
    },
    dmarcRecordFor(domain),
    ...(receives ? [mxRecordFor(settings, domain)] : []),
  ]
}

export const dmarcRecordFor = (domain: string): SenderRecord => ({
  key: 'dmarc',
  kind: 'dmarc',
  type: 'TXT',
  name: `_dmarc.${domain}`,
  value: 'v=DMARC1; p=none;',
  purpose: 'DMARC: tells receivers what to do with mail that only pretends to be yours. A policy that you have already will do.',
  isRequired: true,
})

function dkimRecordFor(key: DomainKey, keys: DomainKey[]): SenderRecord {
  const isRsa = key.algorithm === 'rsa-sha256'
  const isSuccessor = key.status === 'pending' && keys.some((other) => other.status === 'active' && other.algorithm === key.algorithm)
  const purpose = isSuccessor
    ? 'DKIM, the next key: mail is signed with it as soon as this record is seen. Leave the record before it in place for two weeks more.'
    : isRsa
      ? 'DKIM: the key that proves your mail is yours, and unchanged.'
      : 'DKIM with Ed25519, optional: a second, more modern signature.'
  return {
    key: key.id,
    kind: 'dkim',
    type: 'TXT',
    name: key.name,
    value: key.value,
    purpose,
    isRequired: isRsa && !isSuccessor,
    isSuccessor,
  }
}

const mxRecordFor = ({ MX_HOST }: Settings, domain: string): SenderRecord => ({
  key: 'mx',
  kind: 'mx',
  type: 'MX',
  name: domain,
  value: `10 ${MX_HOST}`,
  purpose: `Optional: brings all mail for @${domain} to the mailboxes here. Add it only if it should not go where it goes now.`,
  isRequired: false,
})
