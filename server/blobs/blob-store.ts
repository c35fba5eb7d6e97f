/** Bytes by key, for what is too big for a database: `services.blobs`. Keys are made here and in no other place. */
export interface BlobStore {
  /** Durable when it resolves. The same key again overwrites: the bytes of a key never differ. */
  put(key: string, bytes: Buffer): Promise<void>
  get(key: string): Promise<Buffer | null>
  /** What is not there is no mistake. */
  remove(keys: string[]): Promise<void>
  /** Everything whose key begins with the prefix, which ends in `/`. */
  removeAll(prefix: string): Promise<void>
}

/** The store could not take something: it is full, away or not ours. Whoever gave it is not to blame, and may give it again. */
export class BlobStoreError extends Error {}

/** A message as it came, once for each project that has a mailbox among its recipients. */
export const rawKey = (project_id: string, inbound_id: string): string => `${projectPrefix(project_id)}${inbound_id}`

export const projectPrefix = (project_id: string): string => `raw/${project_id}/`
