import { contactOperations } from '../features/contacts/index.ts'
import { identityOperations } from '../features/identity/index.ts'
import { listOperations } from '../features/lists/index.ts'
import { subscriberOperations } from '../features/subscribers/index.ts'
import { suppressionOperations } from '../features/suppressions/index.ts'
import { tokenOperations } from '../features/tokens/index.ts'
import type { Operation } from './define-operation.ts'

/** Everything the program can be asked for, over whichever surface. */
export const allOperations: Operation[] = [
  ...listOperations,
  ...subscriberOperations,
  ...contactOperations,
  ...suppressionOperations,
  ...tokenOperations,
  ...identityOperations,
]
