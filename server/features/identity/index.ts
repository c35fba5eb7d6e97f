import type { Operation } from '../../operations/define-operation.ts'
import { getMe } from './get-me.ts'

export const identityOperations: Operation[] = [getMe]

export { bootstrap } from './bootstrap.ts'
export { findInstance, type Instance } from './identity-queries.ts'
