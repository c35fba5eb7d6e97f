import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../base/errors.ts'
import type { Transaction } from '../database/database.ts'
import type { Context } from './context.ts'

/**
 * Idempotency-Key: one key, one effect, for 24 hours. The first request holds a lease while it works, and renews it for as long as that
 * takes. Whoever comes with the same key meanwhile waits for it, and afterwards gets what it made; a request that failed gives the key
 * back, and the next one tries again. The lease of a process that died runs out.
 */
const leaseMs = 180_000
const renewEveryMs = 60_000
/** Shorter than a connection lives. */
const waitMs = 25_000
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
  /** The receipt of a payment that the earlier request made. */
  receipt: string | null
  noteReceipt(receipt: string): Promise<void>
  /** It is done: from now on the key answers with this. */
  finish(result_id: string): Promise<void>
  /** It failed: the next request with the key tries again. */
  giveBack(): Promise<void>
}

export type Turn = { turn: 'first'; key: HeldKey } | { turn: 'repeat'; result_id: string; receipt: string | null }

interface Wanted {
  key: string
  operation: string
  body_digest: string
  holder: string
}

/** Without a key every request is the first. */
export async function takeTurn(context: Context, operation: string): Promise<Turn> {
  const { idempotency_key: key } = context.request
  if (key === null) return { turn: 'first', key: noKey }
  const wanted = { key, operation, body_digest: digestOf(context), holder: randomUUID() }
  const deadline = performance.now() + waitMs
  for (;;) {
    const row = await lease(context, wanted)
    refuseOtherUse(row, wanted)
    if (row.is_done) return { turn: 'repeat', result_id: row.result_id as string, receipt: row.receipt }
    if (row.is_mine) return { turn: 'first', key: holdKey(context, wanted, row) }
    if (performance.now() > deadline) throw stillUnderWay()
    await sleep(lookEveryMs)
  }
}

const nothing = async () => {}
const noKey: HeldKey = { begun: null, receipt: null, noteReceipt: nothing, finish: nothing, giveBack: nothing }

/** The same words through the keys of two mailboxes are two requests. */
const digestOf = ({ request, caller }: Context): string => `${request.bodyDigest()} ${caller.mailbox_id ?? caller.agent_mailbox_id ?? ''}`

/** Takes a key that is new, given back, abandoned or a day old; one that is done or in other hands is looked at only. */
async function lease({ database, clock, caller }: Context, wanted: Wanted): Promise<KeyRow> {
  const now = clock.now()
  const until = new Date(now.getTime() + leaseMs)
  const dayAgo = new Date(now.getTime() - 24 * 3_600_000)
  const taken = await database.first<KeyRow>`
    insert into idempotency_keys as k (project_id, key, operation, body_digest, lease_until, holder, created_at)
    values (${caller.project_id}, ${wanted.key}, ${wanted.operation}, ${wanted.body_digest}, ${until}, ${wanted.holder}, ${now})
    on conflict (project_id, key) do update set
      lease_until = ${until},
      holder = excluded.holder,
      operation = excluded.operation,
      body_digest = excluded.body_digest,
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

function refuseOtherUse(row: KeyRow, { operation, body_digest }: Wanted): void {
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

/** Every word here is the holder's alone: one that was taken for dead, and is not, changes nothing any more. */
function holdKey({ database, clock, caller, log }: Context, { key, holder }: Wanted, { result_id, receipt }: KeyRow): HeldKey {
  const { project_id } = caller
  const renewing = setInterval(() => {
    const until = new Date(clock.now().getTime() + leaseMs)
    database.run`
      update idempotency_keys set lease_until = ${until} where project_id = ${project_id} and key = ${key} and holder = ${holder} and lease_until is not null`.catch(
      (error: Error) => log.debug({ reason: error.message }, 'a lease is renewed later'),
    )
  }, renewEveryMs).unref()
  return {
    begun: result_id,
    receipt,
    noteReceipt: async (paid) => {
      await database.run`
        update idempotency_keys set receipt = ${paid} where project_id = ${project_id} and key = ${key} and holder = ${holder}`
    },
    finish: async (made) => {
      clearInterval(renewing)
      await database.run`
        update idempotency_keys set result_id = ${made}, lease_until = null
        where project_id = ${project_id} and key = ${key} and holder = ${holder}`
    },
    giveBack: async () => {
      clearInterval(renewing)
      // A key that has made nothing leaves no trace: a request that was refused changed nothing.
      await database.run`
        delete from idempotency_keys where project_id = ${project_id} and key = ${key} and holder = ${holder} and result_id is null`
      await database.run`
        update idempotency_keys set lease_until = ${clock.now()} where project_id = ${project_id} and key = ${key} and holder = ${holder}`
    },
  }
}

/** Written with the thing that was begun, so that after a crash the next request goes on with it and does not make a second one. */
export const rememberBegun = (tx: Transaction, context: Begun['context'], result_id: string): Promise<void> =>
  rememberEachBegun(tx, [{ context, result_id }])

interface Begun {
  context: Pick<Context, 'caller' | 'request'>
  result_id: string
}

/** Of several requests, those that have a key. */
export async function rememberEachBegun(tx: Transaction, begun: Begun[]): Promise<void> {
  const keyed = begun.filter(({ context }) => context.request.idempotency_key !== null)
  if (keyed.length === 0) return
  await tx.run`
    update idempotency_keys k set result_id = b.result_id
    from unnest(${keyed.map(({ context }) => context.caller.project_id)}::uuid[], ${keyed.map(({ context }) => context.request.idempotency_key)}::text[],
      ${keyed.map(({ result_id }) => result_id)}::uuid[]) as b (project_id, key, result_id)
    where k.project_id = b.project_id and k.key = b.key`
}
