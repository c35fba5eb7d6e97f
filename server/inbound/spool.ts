import type { Log } from '../base/log.ts'
import { Rest } from '../base/rest.ts'
import { Trouble } from '../base/trouble.ts'
import { wake } from '../base/wake.ts'
import { copyTarget } from '../database/copy-rows.ts'
import { type Database, isConnectionLoss } from '../database/database.ts'
import type { SpooledMessage } from './inbound-message.ts'
import { isPassing } from './passing-trouble.ts'
import type { OwnClaim } from './spool-queries.ts'

/**
 * Where mail is safe before anybody is told 250. While one insert is on its way to the disk, what else is complete gathers for the
 * next: twenty sessions cost one commit, not twenty, and a lone message waits for nobody but, for a moment, those that are being read.
 */
export interface Spool {
  /** Resolves when the message is committed, rejects when it may not be. */
  add(message: SpooledMessage): Promise<void>
  /** Everything that was added so far has its answer. */
  settled(): Promise<void>
}

/** One insert carries no more than this, so that a burst of large messages is not one huge statement. A larger one goes alone. */
const maxBatchBytes = 8 * 1024 * 1024
const maxBatchRows = 500
/** While other mail is being read the processors have enough to do as a rule, and an insert of many costs little more than one of few. */
const gatherMs = 10
const enough = 18

/** Who files in this process. What it has room for is stored as taken, and need not be looked up and read out of the spool again. */
export interface Taker {
  /** Under what claim these are stored; null leaves them to whoever looks next. */
  claim(messages: SpooledMessage[]): OwnClaim | null
  /** They are committed under that claim. Their bytes are somebody else's after this call. */
  take(messages: SpooledMessage[]): void
  /** Calls when it has read all that it has, at once if it has nothing. Only whoever asked last is called. */
  whenIdle(call: () => void): void
}

interface Entry {
  message: SpooledMessage
  resolve(): void
  reject(error: unknown): void
}

export function createSpool({ database, log, taker }: { database: Database; log: Log; taker?: Taker | undefined }): Spool {
  const waiting: Entry[] = []
  let writing: Promise<void> | null = null
  const line = 'mail could not be stored, and its senders will try again'
  const trouble = new Trouble(log, { line, words: 'mail cannot be taken in just now' })
  // Some message of a stranger's: nobody else's is held up by it.
  const oddity = new Trouble(log, { line })

  const gathering = new Rest()
  const gather = (reader: Taker) => {
    const over = gathering.for(gatherMs)
    reader.whenIdle(() => gathering.end())
    return over
  }
  const writeAll = async () => {
    while (waiting.length > 0) {
      if (taker && waiting.length < enough) await gather(taker)
      await writeBatch(waiting.splice(0, batchLength(waiting)))
    }
    writing = null
  }
  const writeBatch = async (batch: Entry[]): Promise<void> => {
    const messages = batch.map(({ message }) => message)
    const claim = taker?.claim(messages) ?? null
    try {
      await insertMessages(database, { messages, claim })
    } catch (error) {
      // One that the database will not have must not keep out the others; a database that is away keeps out all.
      if (batch.length > 1 && !isConnectionLoss(error)) {
        for (const entry of batch) await writeBatch([entry])
        return
      }
      const why = isPassing(error) ? trouble : oddity
      why.met(error, { messages: batch.length })
      for (const { reject } of batch) reject(error)
      return
    }
    trouble.over()
    if (claim) taker?.take(messages)
    else wake('inbound')
    for (const { resolve } of batch) resolve()
  }

  return {
    add: (message) =>
      new Promise<void>((resolve, reject) => {
        if (waiting.push({ message, resolve, reject }) >= enough) gathering.end()
        writing ??= writeAll()
      }),
    settled: async () => {
      await writing
    },
  }
}

function batchLength(waiting: Entry[]): number {
  let bytes = 0
  let count = 0
  for (const { message } of waiting) {
    bytes += message.raw.length
    if (count > 0 && (bytes > maxBatchBytes || count === maxBatchRows)) break
    count++
  }
  return count
}

const spool = copyTarget('inbound_spool', {
  id: 'uuid',
  received_at: 'timestamptz',
  peer: 'jsonb',
  envelope_from: 'text',
  recipients: 'text[]',
  attempts: 'smallint',
  lease_owner: 'uuid',
  next_attempt_at: 'timestamptz',
  raw: 'bytea',
})

const insertMessages = (database: Database, { messages, claim }: { messages: SpooledMessage[]; claim: OwnClaim | null }) =>
  database.copy(
    spool,
    messages.map((message) => ({
      ...message,
      attempts: claim ? 1 : 0,
      lease_owner: claim?.owner ?? null,
      next_attempt_at: claim?.until ?? message.received_at,
    })),
  )
