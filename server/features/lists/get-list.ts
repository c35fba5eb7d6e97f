import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { ListDetail, ListParams, toListDetail } from './list.ts'
import { findList } from './list-queries.ts'

export const getList = defineOperation({
  id: 'lists.get',
  method: 'GET',
  path: '/lists/{id}',
  scope: 'read',
  summary: 'One list',
  params: ListParams,
  result: ListDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, clock, caller }, { params }) {
    const list = await findList(database, { project_id: caller.project_id, list_id: params.id })
    if (!list) throw notFound('list')
    return toListDetail(list, clock.now())
  },
})
