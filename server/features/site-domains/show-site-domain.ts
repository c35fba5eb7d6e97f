import type { z } from 'zod'
import type { Services } from '../../operations/context.ts'
import { showRecords } from '../dns-records/index.ts'
import { canonicalUrl, defaultSiteUrl } from '../sites/index.ts'
import { nextStepOf } from './next-step.ts'
import type { Connection } from './reach-site-domain.ts'
import type { SiteDomainInfo } from './site-domain.ts'

export function showSiteDomain({ config }: Pick<Services, 'config'>, connection: Connection): z.output<typeof SiteDomainInfo> {
  const { list, domain } = connection
  const default_url = defaultSiteUrl(config, list.subdomain)
  const next_step = nextStepOf(config, connection)
  if (!domain) return { domain: null, default_url, live_url: null, status: 'not_configured', records: [], next_step }
  const { row, wanted } = domain
  return {
    domain: row.domain,
    default_url,
    live_url: row.status === 'active' ? canonicalUrl(config, { subdomain: list.subdomain, domain: row.domain }) : null,
    status: row.status,
    records: showRecords(wanted, row.findings),
    next_step,
  }
}
