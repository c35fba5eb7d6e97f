import type { Config } from '../../base/config.ts'
import type { Case, Findings, Interest, WantedRecord } from '../dns-records/index.ts'
import { isNaked, type Proof, proofFor, type SiteDomainRow, targetOf, wwwOf } from './site-domain.ts'

/** What a site's domain needs. A CNAME says whose site it is; an ALIAS only leads here, and a TXT record says the rest. */
export interface SiteRecord extends WantedRecord {
  key: 'site' | 'proof' | 'www'
  type: 'CNAME' | 'ALIAS' | 'TXT'
}

export type SiteCase = Case<SiteRecord>

export interface Wanted {
  row: Pick<SiteDomainRow, 'domain' | 'www_enabled' | 'list_id'>
  proof: Proof
  /** The value of the TXT record for the certificate; null until the authority has told it. */
  challenge: string | null
}

/** In the order in which a person adds them. */
export function recordsFor(settings: Pick<Config, 'SITE_TARGET'>, { row, proof, challenge }: Wanted): SiteRecord[] {
  const { domain } = row
  const value = targetOf(settings, row.list_id)
  if (!isNaked(domain))
    return [{ key: 'site', type: 'CNAME', name: domain, value, purpose: `Leads visitors of ${domain} to your site.`, isRequired: true }]
  return [
    {
      key: 'site',
      type: 'ALIAS',
      name: domain,
      value,
      purpose: `Leads visitors of ${domain} to your site. Your DNS provider may call it ALIAS, ANAME or a flattened CNAME at @.`,
      isRequired: true,
    },
    ...(proof === 'record' ? [ownRecord(row)] : challenge === null ? [] : [challengeRecord(domain, challenge)]),
    ...(row.www_enabled ? [wwwRecord(domain, value)] : []),
  ]
}

/** The record of our own by which a domain shows whose it is, where the one for the certificate would not. */
export const ownRecord = (row: Pick<SiteDomainRow, 'domain' | 'list_id'>): SiteRecord => ({
  key: 'proof',
  type: 'TXT',
  ...proofFor(row),
  purpose: 'Shows that the domain is yours.',
  isRequired: true,
})

const challengeRecord = (domain: string, value: string): SiteRecord => ({
  key: 'proof',
  type: 'TXT',
  name: `_acme-challenge.${domain}`,
  value,
  purpose: 'For the certificate: shows that the domain is yours. You may remove it once the site is live.',
  isRequired: true,
})

const wwwRecord = (domain: string, value: string): SiteRecord => ({
  key: 'www',
  type: 'CNAME',
  name: wwwOf(domain),
  value,
  purpose: `Leads those who write ${wwwOf(domain)} there, too. The site is live without it.`,
  isRequired: false,
})

/** What tells one TXT record from another: which one is wanted depends on who else is at the domain, and its value on the order that is open. */
export const aboutOf = ({ name, value }: Pick<SiteRecord, 'name' | 'value'>): string => `${name} ${value}`

/** Without what was seen of a record that is not wanted any more: it says nothing of the one in its place. */
export const stillAbout = (wanted: SiteRecord[], findings: Findings): Findings =>
  Object.fromEntries(
    Object.entries(findings).filter(
      ([key, { about }]) => about === undefined || wanted.some((record) => record.key === key && aboutOf(record) === about),
    ),
  )

/** What is asked about a record in its zone, and where else people put it. */
export function interestIn(zone: string, { type, name }: SiteRecord): Interest {
  const doubled = `${name}.${zone}`
  if (type === 'TXT')
    return { questions: [`TXT ${name}`], doubts: [`TXT ${doubled}`, `TXT ${zone}`, `TXT ${name.replace(/^_/, '')}`, `CNAME ${name}`] }
  return { questions: [`CNAME ${name}`, `ADDRESS ${name}`], doubts: [`CNAME ${doubled}`, `ADDRESS ${doubled}`] }
}
