import { isConnectionLoss } from '../database/database.ts'
import { TemplateError } from '../mail/compile/index.ts'
import { UnusableKey, UnverifiedDomain } from './signing-keys.ts'
import type { Outcome } from './transports/index.ts'

/** This very mail cannot be put together, for this recipient: as it is, it will not go better next time. */
export class UnfitMail extends Error {
  constructor(cause: unknown) {
    super((cause as Error).message, { cause })
  }
}

/**
 * What an error of ours means for a message that nobody was asked about yet. Only what lies in the message itself ends it, and as a failure
 * of ours: it says nothing about the address, and a post can try it again. A key, a disk, a database gets mended, and the message waits.
 */
export function outcomeOfOwnError(error: unknown): Outcome {
  const detail = (error as Error).message
  const nothingSaid = { smtp_code: null, enhanced_code: null, detail }
  if (error instanceof UnfitMail || error instanceof TemplateError)
    return { kind: 'failed', ...nothingSaid, reason: 'The message could not be put together for this recipient' }
  return { kind: 'deferred', ...nothingSaid, reason: reasonOfWaiting(error) }
}

function reasonOfWaiting(error: unknown): string {
  if (error instanceof UnusableKey || error instanceof UnverifiedDomain) return error.message
  if (isConnectionLoss(error)) return 'The database could not be reached; it is tried again'
  return 'An error of this server kept it from being put together; the log of the server tells which'
}
