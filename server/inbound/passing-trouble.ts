import { BlobStoreError } from '../blobs/blob-store.ts'
import { isConnectionLoss } from '../database/database.ts'

/**
 * Trouble that no message is to blame for, and that passes: the store or the database is away, full (class 53 of the error codes of
 * PostgreSQL), out of order (58) or a standby (25006), or two writers were in each other's way (40).
 */
export function isPassing(error: unknown): boolean {
  if (error instanceof BlobStoreError || isConnectionLoss(error)) return true
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(?:53|58|40)[\dA-Z]{3}$|^25006$/.test(code)
}
