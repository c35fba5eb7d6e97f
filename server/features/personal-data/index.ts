import type { Operation } from '../../operations/define-operation.ts'
import { eraseContact } from './erase-contact.ts'
import { exportContact } from './export-contact.ts'

export const personalDataOperations: Operation[] = [exportContact, eraseContact]

export { erasePerson } from './erase-person.ts'
export { eraseTraces } from './erase-traces.ts'
export { exportPerson } from './export-person.ts'
