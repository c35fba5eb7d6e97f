import type { Operation } from '../../operations/define-operation.ts'
import { createList } from './create-list.ts'
import { deleteList } from './delete-list.ts'
import { getList } from './get-list.ts'
import { getListActivity } from './get-list-activity.ts'
import { listLists } from './list-lists.ts'
import { updateList } from './update-list.ts'

export const listOperations: Operation[] = [listLists, createList, getList, updateList, deleteList, getListActivity]

export { isSenderLost, ListDetail, type ListRow, senderOf, toListDetail, UnderListParams } from './list.ts'
export { changeCounts } from './list-counters.ts'
export {
  findList,
  findListBySubdomain,
  findListOfAnyProject,
  findListType,
  holdList,
  holdSender,
  type ListKey,
  listExists,
  listsOfSender,
  lockList,
  saveSender,
} from './list-queries.ts'
export { purgeList } from './purge-list.ts'
export { repairCounters } from './repair-counters.ts'
export { canonicalUrl, defaultSiteUrl } from './site-url.ts'
