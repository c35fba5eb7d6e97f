import { defineOperation } from '../../operations/define-operation.ts'
import { checkTogether, isFresh } from '../dns-records/index.ts'
import { UnderListParams } from '../lists/index.ts'
import { checkDomain } from './check-domain.ts'
import { reachSender } from './reach-sender.ts'
import { SenderInfo, toSenderInfo } from './sender.ts'

export const checkSender = defineOperation({
  id: 'senders.check',
  method: 'POST',
  path: '/lists/{listId}/sender/check',
  scope: 'write',
  summary: 'Look for the DNS records of a list’s sender now',
  description:
    'Asks the domain’s own name servers, which know of a change before others do. A domain that has failed begins a new try. An answer that is younger than five seconds is given again. The default sender needs no records.',
  params: UnderListParams,
  result: SenderInfo,
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const key = { project_id: context.caller.project_id, list_id: params.listId }
    const sending = await reachSender(context, context.database, key)
    if (!sending.domain || isFresh(context, sending.domain.row)) return toSenderInfo(sending)
    const { project_id, domain } = sending.domain.row
    await checkTogether(context, `sender ${project_id} ${domain}`, () => checkDomain(context, { project_id, domain }, { isAsked: true }))
    return toSenderInfo(await reachSender(context, context.database, key))
  },
})
