import { notFound } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findList, type ListKey, lockList, saveSender, toListDetail, UnderListParams } from '../lists/index.ts'
import { giveUpUnused } from './give-up-unused.ts'

export const resetSender = defineOperation({
  id: 'senders.reset',
  method: 'DELETE',
  path: '/lists/{listId}/sender',
  scope: 'write',
  summary: 'Send from the default address again',
  description:
    'From the next post on. A post that is on its way goes on as it began. A domain that no list, mailbox or running post needs any more is forgotten, and its keys with it.',
  params: UnderListParams,
  status: 204,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    await database.transaction((tx) => resetToDefault(tx, { project_id: caller.project_id, list_id: params.listId }))
  },
})

/** The chosen name goes as well: it belongs to the address. */
export async function resetToDefault(tx: Transaction, key: ListKey): Promise<void> {
  const before = await lockList(tx, key)
  if (!before) throw notFound('list')
  if (before.sender_domain === null && before.sender_name === null) return
  await saveSender(tx, key, { sender_name: null, sender_local_part: null, sender_domain: null })
  if (before.sender_domain !== null) await giveUpUnused(tx, { project_id: key.project_id, domain: before.sender_domain })
  const after = (await findList(tx, key))! // locked above
  await publish(tx, key.project_id, 'list.updated', { list_id: key.list_id, list: toListDetail(after, tx.now) })
}
