import type { z } from 'zod'
import { invalid } from '../../base/errors.ts'
import { isWithin, parseDomain, zoneOf } from '../../mail/domain-name.ts'
import type { Context } from '../../operations/context.ts'
import { type Finding, survey } from '../dns-records/index.ts'
import { diagnose } from './diagnose.ts'
import { interestIn, ownRecord } from './records.ts'
import { hostsOf, isNaked, type NewSiteDomain, type SiteDomainRow } from './site-domain.ts'

export type WantedDomain = Pick<SiteDomainRow, 'domain' | 'www_enabled'>

/** The names of its records must be names still: `_posthaste-verify.` before it, and the zone once more behind it while a mistake is looked for. */
const mostBytes = 180

export function readDomain({ config }: Pick<Context, 'config'>, body: z.output<typeof NewSiteDomain>): WantedDomain {
  const parsed = parseDomain(body.domain)
  if (!parsed.ok) throw invalid('domain', parsed.problem)
  const { domain } = parsed
  if (domain.startsWith('*.')) throw invalid('domain', 'is a wildcard; a site has one name')
  if (domain.length > mostBytes) throw invalid('domain', `is longer than ${mostBytes} bytes, too long for the names of its records`)
  const wanted = { domain, www_enabled: isNaked(domain) && body.www_enabled === true }
  for (const host of hostsOf(wanted))
    if (isOurs(config, host))
      throw invalid(
        host === domain ? 'domain' : 'www_enabled',
        `${host === domain ? 'is' : `makes ${host}, which is`} this installation’s own`,
      )
  return wanted
}

/** A host that this installation is reached at, or a name below it: those are the sites of lists by default, and where domains point at. */
const isOurs = ({ PUBLIC_URL, API_URL, AUTH_URL, MCP_URL, MAIL_DOMAIN, SITE_TARGET, MX_HOST }: Context['config'], host: string): boolean =>
  [...[PUBLIC_URL, API_URL, AUTH_URL, MCP_URL].map((url) => new URL(url).hostname), MAIL_DOMAIN, SITE_TARGET, MX_HOST].some((own) =>
    isWithin(host, own),
  )

/** What is at the TXT record by which a domain that another project has live is shown to be this list's. */
export async function lookForProof({ dns }: Pick<Context, 'dns'>, row: Pick<SiteDomainRow, 'domain' | 'list_id'>): Promise<Finding> {
  const zone = zoneOf(row.domain)
  const record = ownRecord(row)
  const answers = await survey(dns.authoritative(zone), [interestIn(zone, record)])
  return diagnose({ zone, wanted: [record], answers, isProved: false })[record.key] as Finding // the one that was asked for
}
