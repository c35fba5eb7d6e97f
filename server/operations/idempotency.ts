import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../base/errors.ts'
import type { Transaction } from '../database/database.ts'
import type { Context } from './context.ts'

/**
 * Idempotency-Key: one key, one effect, for 24 hours. The first request holds a lease while it works. Whoever comes with the same key
 * meanwhile waits for it, and afterwards gets what it made; a request that failed gives the key back, and the next one tries again.
 */
const leaseMs = 180_000
const waitMs = 60_000
const lookEveryMs = 100

interface KeyRow {
  body_digest: string
  operation: string
  result_id: string | null
  receipt: string | null
  is_mine: boolean
  is_done: boolean
}

export interface HeldKey {
  /** What an earlier request with this key began and did not finish, to go on with. */
  begun: string | null
  /** It is done: from now on the key answers with this. */
  finish(result_id: string, receipt: string | null): Promise<void>
  /** It failed: the next request with the key tries again. */
  giveBack(): Promise<void>
}

export type Turn = { turn: 'first'; key: HeldKey } | { turn: 'repeat'; result_id: string; receipt: string | null }

/** Without a key every request is the first. */
export async function takeTurn(context: Context, operation: string): Promise<Turn> {
  const key = context.request.idempotency_key
  if (key === null) return { turn: 'first', key: { begun: null, finish: async () => {}, giveBack: async () => {} } }
  const body_digest = context.request.bodyDigest()
  const deadline = performance.now() + waitMs
  for (;;) {
    const row = await lease(context, { key, operation, body_digest })
    refuseOtherUse(row, operation, body_digest)
    if (row.is_done) return { turn: 'repeat', result_id: row.result_id as string, receipt: row.receipt }
    if (row.is_mine) return { turn: 'first', key: heldKey(context, key, row.result_id) }
    if (performance.now() > deadline) throw stillUnderWay()
    await sleep(lookEveryMs)
  }
}

/** Takes a key that is new, given back, abandoned or a day old; one that is done or in other hands is looked at only. */
async function lease(
  { database, clock, caller }: Context,
  wanted: { key: string; operation: string; body_digest: string },
): Promise<KeyRow> {
  const now = clock.now()
  const until = new Date(now.getTime() + leaseMs)
  const dayAgo = new Date(now.getTime() - 24 * 3_600_000)
  const taken = await database.first<KeyRow>`
    insert into idempotency_keys as k (project_id, key, operation, body_digest, lease_until, created_at)
    values (${caller.project_id}, ${wanted.key}, ${wanted.operation}, ${wanted.body_digest}, ${until}, ${now})
    on conflict (project_id, key) do update set
      lease_until = ${until},
      operation = case when k.created_at < ${dayAgo} then excluded.operation else k.operation end,
      body_digest = case when k.created_at < ${dayAgo} then excluded.body_digest else k.body_digest end,
      result_id = case when k.created_at < ${dayAgo} then null else k.result_id end,
      receipt = case when k.created_at < ${dayAgo} then null else k.receipt end,
      created_at = case when k.created_at < ${dayAgo} then ${now} else k.created_at end
    where k.created_at < ${dayAgo}
      or (k.lease_until <= ${now} and k.operation = excluded.operation and k.body_digest = excluded.body_digest)
    returning operation, body_digest, result_id, receipt, true as is_mine, false as is_done`
  if (taken) return taken
  const held = await database.first<KeyRow>`
    select operation, body_digest, result_id, receipt, false as is_mine, lease_until is null as is_done
    from idempotency_keys where project_id = ${caller.project_id} and key = ${wanted.key}`
  // It was given back and removed in this moment: the next look takes it.
  return held ?? { ...wanted, result_id: null, receipt: null, is_mine: false, is_done: false }
}

function refuseOtherUse(row: KeyRow, operation: string, body_digest: string): void {
  if (row.operation === operation && row.body_digest === body_digest) return
  throw new ApiError(
    'validation_error',
    'Idempotency-Key: was used for another request in the last 24 hours. A key stands for one request and its repeats; make a new one.',
    { field: 'Idempotency-Key' },
  )
}

const stillUnderWay = () =>
  new ApiError('conflict', 'The first request with this Idempotency-Key is still under way. Ask again in a moment.', {
    headers: { 'retry-after': '5' },
  })

const heldKey = ({ database, clock, caller }: Context, key: string, begun: string | null): HeldKey => ({
  begun,
  finish: async (result_id, receipt) => {
    await database.run`
      update idempotency_keys set result_id = ${result_id}, receipt = ${receipt}, lease_until = null
      where project_id = ${caller.project_id} and key = ${key}`
  },
  giveBack: async () => {
    // A key that has made nothing leaves no trace: a request that was refused changed nothing.
    await database.run`delete from idempotency_keys where project_id = ${caller.project_id} and key = ${key} and result_id is null`
    await database.run`update idempotency_keys set lease_until = ${clock.now()} where project_id = ${caller.project_id} and key = ${key}`
  },
})

/** Written with the thing that was begun, so that after a crash the next request goes on with it and does not make a second one. */
export const rememberBegun = (tx: Transaction, { caller, request }: Context, result_id: string): Promise<number> => tx.run`
  update idempotency_keys set result_id = ${result_id} where project_id = ${caller.project_id} and key = ${request.idempotency_key}`
