import { invalid, notFound } from '../../base/errors.ts'
import { addPendingKeys, domainKeys, makeDomainKeys } from '../../delivery/control.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findList, type ListKey, UnderListParams } from '../lists/index.ts'
import { reachSender } from './reach-sender.ts'
import { SenderInfo, toSenderInfo } from './sender.ts'
import { checkSoon, holdDomain, lockDomain } from './sender-queries.ts'

export const rotateSender = defineOperation({
  id: 'senders.rotate',
  method: 'POST',
  path: '/lists/{listId}/sender/rotate',
  scope: 'write',
  summary: 'Make new DKIM keys for a list’s domain',
  description:
    'For all lists that send from the domain. Mail is signed with the present keys until the records of the new ones are seen in DNS, and then with the new ones by itself; the old records should stay for two weeks more. While new keys wait already, no others are made. Only for a verified domain.',
  params: UnderListParams,
  result: SenderInfo,
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const key = { project_id: context.caller.project_id, list_id: params.listId }
    await rotate(context, key)
    return toSenderInfo(await reachSender(context, context.database, key))
  },
})

async function rotate({ database, secrets }: Context, { project_id, list_id }: ListKey): Promise<void> {
  const list = await findList(database, { project_id, list_id })
  if (!list) throw notFound('list')
  if (list.sender_domain === null || list.sender_domain_status !== 'verified')
    throw invalid('sender', 'has no verified domain, so there are no keys in use to replace')
  const domain = { project_id, domain: list.sender_domain }
  if (waits(await domainKeys(database, domain))) return
  const made = await makeDomainKeys()
  await database.transaction(async (tx) => {
    await holdDomain(tx, domain.domain)
    const row = await lockDomain(tx, domain)
    const present = await domainKeys(tx, domain)
    if (row?.status !== 'verified' || waits(present)) return
    // An optional key that nobody has added waits still: it is as new as a new one.
    const keys = made.filter(({ algorithm }) => !present.some((one) => one.status === 'pending' && one.algorithm === algorithm))
    await addPendingKeys({ secrets }, tx, { ...domain, keys })
    await checkSoon(tx, domain)
  })
}

const waits = (keys: Awaited<ReturnType<typeof domainKeys>>): boolean =>
  keys.some(({ status, algorithm }) => status === 'pending' && algorithm === 'rsa-sha256')
