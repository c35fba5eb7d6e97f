import { isDeepStrictEqual } from 'node:util'
import { invalid, notFound } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation, type Operation } from '../../operations/define-operation.ts'
import { refuseForbidden } from '../../operations/run-operation.ts'
import { ListChanges, ListDetail, ListParams, toListDetail, waitlistSettings } from './list.ts'
import { lockList, updateList as saveList } from './list-queries.ts'

export const updateList: Operation = defineOperation({
  id: 'lists.update',
  method: 'PATCH',
  path: '/lists/{id}',
  scope: 'write',
  summary: 'Change a list’s name, texts or switches',
  description:
    'Fields left out stay as they are. The subdomain does not follow a new name: links that readers have keep working. New words for confirmation_message need the scope `send` besides: they are mailed to people who have not subscribed yet.',
  params: ListParams,
  body: ListChanges,
  result: ListDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller, config }, { params, body }) {
    return database.transaction(async (tx) => {
      const before = await lockList(tx, { project_id: caller.project_id, list_id: params.id })
      if (!before) throw notFound('list')
      for (const setting of waitlistSettings)
        if (before.type !== 'waitlist' && body[setting] !== undefined) throw invalid(setting, 'is for lists of the type waitlist')
      const { reply_to, ...changes } = body
      const list = { ...before }
      Object.assign(list, changes, reply_to === undefined ? {} : { reply_to: reply_to?.address ?? null })
      if (isDeepStrictEqual(list, before)) return toListDetail(before, tx.now)
      // Whoever may add addresses would mail them what they like. Our own words may come back without.
      if (list.confirmation_message !== null && list.confirmation_message !== before.confirmation_message)
        refuseForbidden(caller, { ...updateList, scope: 'send' }, config)
      await saveList(tx, list)
      const detail = toListDetail(list, tx.now)
      await publish(tx, caller.project_id, 'list.updated', { list_id: list.id, list: detail })
      return detail
    })
  },
})
