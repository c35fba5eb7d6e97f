import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Moment, momentOf, msSince } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { ProjectId } from '../base/ids.ts'
import { keepRenewed } from '../base/keep-renewed.ts'
import type { Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { Context } from './context.ts'

/**
 * Idempotency-Key: one key, one effect, for 24 hours. The first request holds a lease while it works, and renews it for as long as that
 * takes. Whoever comes with the same key meanwhile waits for it, and afterwards gets what it made; a request that failed gives the key
 * back, and the next one tries again. The lease of a process that died runs out, by the clock of the database, which all processes share.
 *
 * While the database is away, also the leases of the living run out, who may know by now that a mail has left. So whoever finds a lease
 * that is over, of a request that had begun something, looks for a few seconds whether its holder renews it.
 */
const leaseMs = 180_000
const renewEveryMs = 60_000
/** By looks, not by time: whoever was frozen for a while has not looked. */
const silentLooks = 50
const leaseEnd = sql`now() + ${leaseMs}::integer * interval '1 millisecond'`
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
  /** Who has not renewed their lease, though something was begun. */
  silent: string | null
}

/** Whose lease a key is under. */
interface Held {
  project_id: ProjectId
  key: string
  holder: string
}

export interface HeldKey {
  /** Null when the request came without a key. */
  held: Held | null
  /** What an earlier request with this key began and did not finish, to go on with. */
  begun: string | null
  /** The receipt of a payment that the earlier request made. */
  receipt: string | null
  noteReceipt(receipt: string): Promise<void>
  /** Just before what cannot be taken back. 409 when this request was taken for dead, and another one does it. */
  confirm(): Promise<void>
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
  let silent = { holder: null as string | null, looks: 0 }
  for (;;) {
    const asked = momentOf(context.clock)
    const row = await lease(context, wanted, silent.looks >= silentLooks ? silent.holder : null)
    refuseOtherUse(row, wanted)
    if (row.is_done) return { turn: 'repeat', result_id: row.result_id as string, receipt: row.receipt }
    if (row.is_mine) return { turn: 'first', key: holdKey(context, wanted, { ...row, asked }) }
    if (performance.now() > deadline) throw stillUnderWay()
    silent = { holder: row.silent, looks: row.silent === silent.holder ? silent.looks + 1 : 1 }
    await sleep(lookEveryMs)
  }
}

const nothing = async () => {}
const noKey: HeldKey = {
  held: null,
  begun: null,
  receipt: null,
  noteReceipt: nothing,
  confirm: nothing,
  finish: nothing,
  giveBack: nothing,
}

/** The same words through the keys of two mailboxes are two requests. */
const digestOf = ({ request, caller }: Context): string => `${request.bodyDigest()} ${caller.mailbox_id ?? caller.agent_mailbox_id ?? ''}`

/** Takes a key that is new, given back, abandoned (by `dead`, if something was begun) or a day old; one that is done or in other hands is looked at only. */
async function lease({ database, clock, caller }: Context, wanted: Wanted, dead: string | null): Promise<KeyRow> {
  const now = clock.now()
  const dayAgo = new Date(now.getTime() - 24 * 3_600_000)
  const taken = await database.first<KeyRow>`
    insert into idempotency_keys as k (project_id, key, operation, body_digest, lease_until, holder, created_at)
    values (${caller.project_id}, ${wanted.key}, ${wanted.operation}, ${wanted.body_digest}, ${leaseEnd}, ${wanted.holder}, ${now})
    on conflict (project_id, key) do update set
      lease_until = ${leaseEnd},
      holder = excluded.holder,
      operation = excluded.operation,
      body_digest = excluded.body_digest,
      result_id = case when k.created_at < ${dayAgo} then null else k.result_id end,
      receipt = case when k.created_at < ${dayAgo} then null else k.receipt end,
      created_at = case when k.created_at < ${dayAgo} then ${now} else k.created_at end
    where k.created_at < ${dayAgo}
      or (k.lease_until <= now() and k.operation = excluded.operation and k.body_digest = excluded.body_digest
        and (k.holder is null or k.result_id is null or k.holder = ${dead}))
    returning operation, body_digest, result_id, receipt, true as is_mine, false as is_done, null as silent`
  if (taken) return taken
  const held = await database.first<KeyRow>`
    select operation, body_digest, result_id, receipt, false as is_mine, lease_until is null as is_done,
      case when lease_until <= now() and result_id is not null then holder end as silent
    from idempotency_keys where project_id = ${caller.project_id} and key = ${wanted.key}`
  // It was given back and removed in this moment: the next look takes it.
  return held ?? { ...wanted, result_id: null, receipt: null, is_mine: false, is_done: false, silent: null }
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

const takenOver = () =>
  new ApiError(
    'conflict',
    'This request stood still for so long that a repeat with the same Idempotency-Key took its place. Nothing was sent by this one.',
    {
      headers: { 'retry-after': '5' },
    },
  )

/** Every word here is the holder's alone: one that was taken for dead, and is not, changes nothing any more. */
function holdKey({ database, clock, caller, log }: Context, { key, holder }: Wanted, taken: KeyRow & { asked: Moment }): HeldKey {
  const { project_id } = caller
  const isMine = sql`project_id = ${project_id} and key = ${key} and holder = ${holder}`
  let renewed = taken.asked
  let isLost = false
  const renew = async (): Promise<void> => {
    const asked = momentOf(clock)
    const count = await database.run`update idempotency_keys set lease_until = ${leaseEnd} where ${isMine} and lease_until is not null`
    if (count === 0) isLost = true
    renewed = asked
  }
  const letGo = keepRenewed(renew, {
    everyMs: renewEveryMs,
    onFailure: ({ message: reason }) => log.debug({ reason }, 'the lease of an Idempotency-Key is renewed later'),
  })
  return {
    held: { project_id, key, holder },
    begun: taken.result_id,
    receipt: taken.receipt,
    noteReceipt: async (paid) => {
      await database.run`update idempotency_keys set receipt = ${paid} where ${isMine}`
    },
    confirm: async () => {
      // Nobody takes it before a whole lease has passed. Half of one is left for what comes now.
      if (msSince(renewed, clock) > leaseMs / 2) await renew()
      if (isLost) throw takenOver()
    },
    finish: async (made) => {
      await database.run`update idempotency_keys set result_id = ${made}, lease_until = null where ${isMine}`
      letGo()
    },
    giveBack: async () => {
      letGo()
      // A key that has made nothing leaves no trace: a request that was refused changed nothing.
      await database.run`delete from idempotency_keys where ${isMine} and result_id is null`
      await database.run`update idempotency_keys set lease_until = now(), holder = null where ${isMine}`
    },
  }
}

/** Written with the thing that was begun, so that after a crash the next request goes on with it and does not make a second one. */
export const rememberBegun = (tx: Transaction, key: HeldKey, result_id: string): Promise<void> =>
  rememberEachBegun(tx, [{ key, result_id }])

interface Begun {
  key: HeldKey
  result_id: string
}

/** Of several requests, those that have a key. One that was taken for dead begins nothing: all of this is undone with the 409. */
export async function rememberEachBegun(tx: Transaction, begun: Begun[]): Promise<void> {
  const keyed = begun.flatMap(({ key: { held }, result_id }) => (held ? [{ ...held, result_id }] : []))
  if (keyed.length === 0) return
  const remembered = await tx.run`
    update idempotency_keys k set result_id = b.result_id
    from unnest(${keyed.map(({ project_id }) => project_id)}::uuid[], ${keyed.map(({ key }) => key)}::text[],
      ${keyed.map(({ holder }) => holder)}::uuid[], ${keyed.map(({ result_id }) => result_id)}::uuid[]) as b (project_id, key, holder, result_id)
    where k.project_id = b.project_id and k.key = b.key and k.holder = b.holder`
  if (remembered < keyed.length) throw takenOver()
}
