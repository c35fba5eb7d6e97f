import { defineOperation } from '../../operations/define-operation.ts'
import { UnderListParams } from '../lists/index.ts'
import { reachSiteDomain } from './reach-site-domain.ts'
import { showSiteDomain } from './show-site-domain.ts'
import { SiteDomainInfo } from './site-domain.ts'

export const getSiteDomain = defineOperation({
  id: 'site_domains.get',
  method: 'GET',
  path: '/lists/{listId}/site-domain',
  scope: 'read',
  summary: 'Where a list’s site is, and what its domain still lacks',
  description:
    'Shows what the last check saw; nothing is looked up. Records are looked for every minute in the first hour, every five minutes for a day, hourly after that, and every six hours once the domain is active. Without a domain of its own a list answers `not_configured`.',
  params: UnderListParams,
  result: SiteDomainInfo,
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const key = { project_id: context.caller.project_id, list_id: params.listId }
    return showSiteDomain(context, await reachSiteDomain(context, context.database, key))
  },
})
