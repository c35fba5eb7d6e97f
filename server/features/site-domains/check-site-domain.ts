import { defineOperation } from '../../operations/define-operation.ts'
import { checkTogether, isFresh } from '../dns-records/index.ts'
import { UnderListParams } from '../lists/index.ts'
import { checkDomain } from './check-domain.ts'
import { reachSiteDomain } from './reach-site-domain.ts'
import { showSiteDomain } from './show-site-domain.ts'
import { SiteDomainInfo } from './site-domain.ts'

export const checkSiteDomain = defineOperation({
  id: 'site_domains.check',
  method: 'POST',
  path: '/lists/{listId}/site-domain/check',
  scope: 'write',
  summary: 'Look for the DNS records and the certificate of a list’s domain now',
  description:
    'Asks the domain’s own name servers, which know of a change before others do, and has the certificate authority try again at once, as far as its limits let it. A domain that has failed begins a new try. An answer that is younger than five seconds is given again. A list without a domain of its own needs none.',
  params: UnderListParams,
  result: SiteDomainInfo,
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const key = { project_id: context.caller.project_id, list_id: params.listId }
    const before = await reachSiteDomain(context, context.database, key)
    if (!before.domain || isFresh(context, before.domain.row)) return showSiteDomain(context, before)
    await checkTogether(context, `site ${key.project_id} ${key.list_id}`, () => checkDomain(context, key, { isAsked: true }))
    return showSiteDomain(context, await reachSiteDomain(context, context.database, key))
  },
})
