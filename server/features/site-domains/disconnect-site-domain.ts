import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { lockList, UnderListParams } from '../lists/index.ts'
import { leaveHosts } from './hold-hosts.ts'
import { hostsOf } from './site-domain.ts'
import { findDomain, holdZone, lockDomain, removeDomain } from './site-domain-queries.ts'

export const disconnectSiteDomain = defineOperation({
  id: 'site_domains.disconnect',
  method: 'DELETE',
  path: '/lists/{listId}/site-domain',
  scope: 'write',
  summary: 'Show a list’s site at its default address only',
  description:
    'At once. The domain’s certificate is forgotten. Its DNS records do no harm if they stay, and nobody else can use them. Nothing happens to a list that has no domain.',
  params: UnderListParams,
  status: 204,
  errors: ['not_found'],

  async run(context, { params }) {
    const { database, caller } = context
    const key = { project_id: caller.project_id, list_id: params.listId }
    await database.transaction(async (tx) => {
      if (!(await lockList(tx, key))) throw notFound('list')
      const known = await findDomain(tx, key)
      if (!known) return
      await holdZone(tx, known.domain)
      const row = await lockDomain(tx, key)
      if (!row) return
      await leaveHosts(context, tx, { row, hosts: hostsOf(row) })
      await removeDomain(tx, key)
    })
  },
})
