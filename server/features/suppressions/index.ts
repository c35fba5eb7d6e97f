import type { Operation } from '../../operations/define-operation.ts'
import { createSuppression } from './create-suppression.ts'
import { deleteSuppression } from './delete-suppression.ts'
import { exportSuppressions } from './export-suppressions.ts'
import { listSuppressions } from './list-suppressions.ts'

export const suppressionOperations: Operation[] = [listSuppressions, createSuppression, exportSuppressions, deleteSuppression]

export { addSuppression, findSuppression, findSuppressions, joinSuppressions, suppressErased } from './suppression-queries.ts'
