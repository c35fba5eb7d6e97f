import type { Operation } from '../../operations/define-operation.ts'
import { checkSiteDomain } from './check-site-domain.ts'
import { connectSiteDomain } from './connect-site-domain.ts'
import { disconnectSiteDomain } from './disconnect-site-domain.ts'
import { getSiteDomain } from './get-site-domain.ts'

export const siteDomainOperations: Operation[] = [getSiteDomain, connectSiteDomain, disconnectSiteDomain, checkSiteDomain]

export { checkDueSiteDomains } from './check-due-domains.ts'
export { findSiteByHost } from './site-domain-queries.ts'
export { lookAtSiteTarget } from './site-target.ts'
