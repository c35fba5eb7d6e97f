import { OperatorError } from '../base/errors.ts'

/** A command that was called wrongly, or cannot do its work as things are: the message says what to do. */
export class UsageError extends OperatorError {}
