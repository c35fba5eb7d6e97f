import type { Operation } from '../../operations/define-operation.ts'
import { streamEvents } from './stream-events.ts'

export const eventOperations: Operation[] = [streamEvents]
