import type { Operation } from '../../operations/define-operation.ts'
import { eraseContact } from './erase-contact.ts'
import { exportContact } from './export-contact.ts'

export const personalDataOperations: Operation[] = [exportContact, eraseContact]

export { eraseTraces } from './erase-traces.ts'
