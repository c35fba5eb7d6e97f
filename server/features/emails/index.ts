import type { Operation } from '../../operations/define-operation.ts'
import { getEmail } from './get-email.ts'
import { sendEmail } from './send-email.ts'

export const emailOperations: Operation[] = [sendEmail, getEmail]

export { failInterrupted } from './fail-interrupted.ts'
