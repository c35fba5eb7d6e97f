import { notFound } from '../../base/errors.ts'
import { abortBroadcasts } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { markMailboxDeleted, toMailboxDetail, untieMailboxes } from '../mailboxes/index.ts'
import { ListParams, toListDetail } from './list.ts'
import { lockList, markListDeleted } from './list-queries.ts'
import { purgeList } from './purge-list.ts'

export const deleteList = defineOperation({
  id: 'lists.delete',
  method: 'DELETE',
  path: '/lists/{id}',
  scope: 'write',
  summary: 'Delete a list, its subscribers and its mailbox',
  description:
    'The list is gone at once. Its name is free again for the project, and for others after 90 days: mail for its address still comes. Contacts stay, and so do other mailboxes that were tied to the list.',
  params: ListParams,
  status: 204,
  errors: ['not_found'],

  async run({ database, caller, jobs }, { params }) {
    const key = { project_id: caller.project_id, list_id: params.id }
    await database.transaction(async (tx) => {
      const list = await lockList(tx, key)
      if (!list) throw notFound('list')
      await markListDeleted(tx, key)
      await abortBroadcasts(tx, key, 'the list was deleted')
      const mailbox = await markMailboxDeleted(tx, caller.project_id, list.mailbox_id)
      if (mailbox) await publish(tx, caller.project_id, 'mailbox.deleted', { mailbox_id: mailbox.id, mailbox: toMailboxDetail(mailbox) })
      for (const untied of await untieMailboxes(tx, key))
        await publish(tx, caller.project_id, 'mailbox.updated', { mailbox_id: untied.id, mailbox: toMailboxDetail(untied) })
      await publish(tx, caller.project_id, 'list.deleted', { list_id: list.id, list: toListDetail(list, tx.now) })
      await jobs.enqueue(tx, purgeList, key)
    })
  },
})
