import type { Config } from '../../base/config.ts'
import { areCertificatesOurs } from '../certificates/index.ts'
import { firstOf, problemsIn } from '../dns-records/index.ts'
import { defaultSiteUrl } from '../sites/index.ts'
import type { ConnectedDomain, Connection } from './reach-site-domain.ts'
import { isNaked, type SiteDomainRow } from './site-domain.ts'

type Settings = Pick<Config, 'PUBLIC_URL' | 'SITES_AT' | 'HTTPS_PORT'>

/** One paragraph for the person who has to do it: the record that is missing or wrong, what was seen instead, and what happens meanwhile. */
export function nextStepOf(config: Settings, { list, domain }: Connection): string {
  const home = defaultSiteUrl(config, list.subdomain)
  if (!domain) return `Nothing to do: the site is at ${home}. To show it at a domain of your own, connect one.`
  if (domain.row.status === 'active') return aboutActive(config, domain).join(' ')
  return [...aboutOpen(config, domain), `Until then the site is at ${home}.`].join(' ')
}

function aboutActive(config: Settings, { row, wanted, certificate }: ConnectedDomain): string[] {
  const url = `https://${row.domain}`
  const [problem] = problemsIn(wanted, row.findings)
  if (row.failing_since !== null && problem !== undefined)
    return [
      `The site is at ${url}, but something is amiss: ${problem}`,
      'Mend it within a day, or the site will be at its default address only.',
    ]
  const www = wanted.find(({ key }) => key === 'www')
  const missed =
    www && row.findings.www?.state !== 'found' ? (row.findings.www?.problem ?? `CNAME ${www.name} was not looked for yet.`) : null
  if (missed !== null) return [`The site is live at ${url}.`, missed]
  if (certificate?.problem && certificate.status === 'issued')
    return [`The site is live at ${url}, but its certificate could not be renewed yet: ${certificate.problem}`]
  return [`Nothing to do: the site is live at ${url}.`, ...proxyNote(config, row), ...aboutOthers(row)]
}

/** What resolvers still remember, as the last check has seen. */
const aboutOthers = ({ findings }: SiteDomainRow): string[] => (findings.others?.problem ? [findings.others.problem] : [])

/** Whoever does TLS in front of us has to know of the host. */
const proxyNote = (config: Settings, { domain }: SiteDomainRow): string[] =>
  areCertificatesOurs(config) ? [] : [`The proxy in front of this server does TLS: it needs a certificate for ${domain}.`]

function aboutOpen(config: Settings, connected: ConnectedDomain): string[] {
  const { row, wanted, certificate, isContested } = connected
  const { domain, trouble, last_checked_at } = row
  if (trouble === 'moved')
    return [
      `Another project on this server has shown that ${domain} is theirs.`,
      'If it is yours, see that its DNS records are as below, and ask for a check.',
    ]
  const isTold = wanted.some(({ key }) => key === 'proof') || !isNaked(domain)
  // Its order, if it had one, has been given up with it.
  const isGivenUp = row.status === 'failed' && isNaked(domain) && row.proved_by === null && certificate === null
  const later = isTold
    ? []
    : isGivenUp
      ? ['The TXT record for the certificate needs a new value, which a check brings.']
      : ['The TXT record for the certificate is listed as soon as the certificate authority has told its value: look again in a minute.']
  if (last_checked_at === null)
    return [
      `Add the records below to the DNS of ${domain}, where you registered it or keep its name servers. They are looked for every minute.`,
      ...later,
      ...whyOwnRecord(config, connected),
    ]
  const problems = problemsIn(wanted, row.findings)
  if (isGivenUp && problems.length === 0)
    return [
      ...opening(row),
      ...(isTold && !isContested
        ? ['All records are there; the next check makes it good.']
        : isTold
          ? ['All records are there, but somebody else on this server has the domain. Ask for a check, and it is yours.']
          : [...later, 'Ask for a check, and add the record that is listed then.']),
    ]
  return [
    ...opening(row),
    ...(problems.length > 0 ? firstOf(problems) : [...aboutCertificate(config, certificate), ...aboutOthers(row)]),
    ...later,
    ...whyOwnRecord(config, connected),
    ...(row.status === 'failed' ? ['When you have mended it, ask for a check.'] : []),
  ]
}

/** Why it is not the record for the certificate that has to be there. */
function whyOwnRecord(config: Settings, { row, wanted, proof, isContested }: ConnectedDomain): string[] {
  if (proof !== 'record' || row.proved_by !== null || !areCertificatesOurs(config) || !wanted.some(({ key }) => key === 'proof')) return []
  return isContested
    ? ['Somebody else on this server has the domain, or is about to connect it: the TXT record shows that it is yours.']
    : ['The certificate was had without a proof of whose the domain is: the TXT record shows that it is yours.']
}

function aboutCertificate(config: Settings, certificate: ConnectedDomain['certificate']): string[] {
  if (!areCertificatesOurs(config)) return ['All records are there; the next check makes it good.']
  if (certificate?.problem) return [`The DNS records are right, but the certificate could not be had yet: ${certificate.problem}`]
  return ['The DNS records are right. The certificate is being ordered, which takes a minute or two.']
}

function opening({ trouble, domain }: SiteDomainRow): string[] {
  if (trouble === 'late') return [`Within seven days ${domain} could not be connected.`]
  if (trouble === 'orders') return [`Five orders for the certificate of ${domain} have come to nothing.`]
  if (trouble === 'gone') return [`${domain} does not lead here any more.`]
  return []
}
