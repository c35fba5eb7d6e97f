import { type CaaProperty, type Dns, isFound, shown } from '../../dns/index.ts'

/**
 * RFC 8659: who may issue for a host is said by the CAA records at the nearest name above it that has any. Answers which record forbids our
 * authority, in words for the owner; null when none does, or when DNS cannot say: the authority looks again by itself.
 */
export async function caaProblem(dns: Pick<Dns, 'caa'>, host: string, identities: string[]): Promise<string | null> {
  // An authority that does not say by which names it goes cannot be found in a record.
  if (identities.length === 0) return null
  const relevant = await relevantRecords(dns, host)
  if (relevant === null) return null
  const unknown = relevant.records.find(({ critical, tag }) => critical && !knownTags.has(tag.toLowerCase()))
  const [wanted] = identities
  const remedy = `Add a CAA record at ${relevant.name}: 0 issue "${wanted}".`
  if (unknown)
    return `The CAA record ${shownRecord(unknown)} at ${relevant.name} forbids certificates, because nobody knows what it means. Remove it.`
  const issuers = relevant.records.filter(({ tag }) => tag.toLowerCase() === 'issue')
  if (issuers.length === 0 || issuers.some(({ value }) => identities.includes(issuerIn(value)))) return null
  const more = issuers.length > mostShown ? ` and ${issuers.length - mostShown} more` : ''
  return `The CAA record ${issuers.slice(0, mostShown).map(shownRecord).join(', ')}${more} at ${relevant.name} does not let ${wanted} issue a certificate. ${remedy}`
}

const knownTags = new Set(['issue', 'issuewild', 'iodef', 'issuemail', 'issuevmc', 'contactemail', 'contactphone'])

async function relevantRecords(dns: Pick<Dns, 'caa'>, host: string): Promise<{ name: string; records: CaaProperty[] } | null> {
  for (let labels = host.split('.'); labels.length > 0; labels = labels.slice(1)) {
    const name = labels.join('.')
    const answer = await dns.caa(name)
    if (isFound(answer)) return { name, records: answer.found }
    if ('trouble' in answer) return null
  }
  return null
}

/** What follows the semicolon are parameters, such as the account that alone may order. */
const issuerIn = (value: string): string => (value.split(';')[0] ?? '').trim().toLowerCase()

const mostShown = 3
const shownRecord = ({ critical, tag, value }: CaaProperty): string => shown(`${critical ? 128 : 0} ${tag} "${value}"`)
