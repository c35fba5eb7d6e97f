import type { FastifyRequest } from 'fastify'
import { rememberBriefly } from '../../base/recent.ts'
import { canonicalUrl, findSite } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { type Site, siteFor } from './layout.ts'

/** The site whose address a request names, for what is made anew each time; null when there is none. */
export function createSiteFinder({ database, config }: Pick<Services, 'database' | 'config'>) {
  const find = rememberBriefly((subdomain) => findSite(database, subdomain))
  return async (request: FastifyRequest<{ Params: { subdomain: string } }>): Promise<Site | null> => {
    const row = await find(request.params.subdomain)
    return row && siteFor(request, row, canonicalUrl(config, row))
  }
}
