import { defineOperation } from '../../operations/define-operation.ts'
import { UnderListParams } from '../lists/index.ts'
import { reachSender } from './reach-sender.ts'
import { SenderInfo, toSenderInfo } from './sender.ts'

export const getSender = defineOperation({
  id: 'senders.get',
  method: 'GET',
  path: '/lists/{listId}/sender',
  scope: 'read',
  summary: 'Whom a list’s mail is from, and what DNS still lacks',
  description:
    'Shows what the last check saw; nothing is looked up. Records are looked for every minute in the first hour, every five minutes for a day, hourly after that, and every six hours once the domain is verified.',
  params: UnderListParams,
  result: SenderInfo,
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const key = { project_id: context.caller.project_id, list_id: params.listId }
    return toSenderInfo(await reachSender(context, context.database, key))
  },
})
