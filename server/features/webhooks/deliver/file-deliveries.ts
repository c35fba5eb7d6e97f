import type { EventId, ProjectId, WebhookId } from '../../../base/ids.ts'
import { wake } from '../../../base/wake.ts'
import type { Transaction } from '../../../database/database.ts'
import { sql } from '../../../database/sql.ts'
import { type EventType, eventTypes } from '../../../events/catalogue.ts'
import type { Consumer } from '../../../events/consume.ts'
import type { EventRow } from '../../../events/expand-events.ts'
import { findHomes } from '../../../events/homes.ts'
import { findProjectsBehind, type NewMass, putAside } from './mass-queries.ts'
import { addedTo, endedEarly, orderedId, timeOfId } from './queue-queries.ts'

/**
 * Turns events into deliveries, one for each active webhook that wants the type. A bulk row becomes as many deliveries as it holds
 * events, by their places alone: what they say is read when they are sent. What would take long is put aside (file-masses.ts). `onFiled` hears
 * how many there were.
 */
export const createDeliveryFiler = (onFiled: (count: number) => void = () => {}): Consumer => ({
  name: 'webhooks',
  types: eventTypes,
  readsData: false,
  async handle(tx, rows) {
    const told = await findTold(tx, rows)
    if (told.length === 0) return false
    const { now, later } = divide(told, await findProjectsBehind(tx, [...new Set(told.map(({ home }) => home))]))
    await fileDeliveries(tx, now.map(wholeOf))
    await putAside(tx, later.map(massOf))
    tx.afterCommit(() => {
      onFiled(told.reduce((sum, one) => sum + pairsOf(one), 0))
      wake('webhooks')
      if (later.length > 0) wake('webhook-masses')
    })
    return true
  },
})

interface Wish {
  project_id: ProjectId
  type: EventType
  webhooks: WebhookId[]
}
const wishOf = ({ project_id, type }: Omit<Wish, 'webhooks'>): string => `${project_id} ${type}`

/** An event row and who is told of it. */
interface Told {
  row: EventRow
  /** Where the webhooks are that are told: a merge may have moved them since. */
  home: ProjectId
  webhooks: WebhookId[]
}

const pairsOf = ({ row, webhooks }: Told): number => row.item_count * webhooks.length

/** The rows that somebody wants to hear of. Webhooks are held before anybody asks where a merge took them (events/homes.ts). */
async function findTold(tx: Transaction, rows: EventRow[]): Promise<Told[]> {
  const projects = [...new Set(rows.map(({ project_id }) => project_id))]
  const types = [...new Set(rows.map(({ type }) => type))]
  const wishes = await holdWanting(tx, projects, types)
  const homes = await findHomes(tx, projects)
  if (homes.size > 0) wishes.push(...(await holdWanting(tx, [...new Set(homes.values())], types)))
  const wanting = new Map(wishes.map((wish) => [wishOf(wish), wish.webhooks]))
  return rows
    .map((row) => ({ row, home: homes.get(row.project_id) ?? row.project_id }))
    .map(({ row, home }) => ({ row, home, webhooks: wanting.get(wishOf({ project_id: home, type: row.type })) ?? [] }))
    .filter(({ webhooks }) => webhooks.length > 0)
}

/** The lock keeps a webhook from being deleted, or moved, before its deliveries are there to go with it. */
const holdWanting = (tx: Transaction, projects: ProjectId[], types: EventType[]) => tx.many<Wish>`
  with held as materialized (
    select project_id, id, events from webhooks where project_id = any(${projects}::uuid[]) and status = 'active' order by project_id, id for key share)
  select project_id, type, array_agg(id) as webhooks from held cross join unnest(events) as type
  where type = any(${types}::text[]) group by project_id, type`

/** Deliveries of one batch: of a project, and of bulk rows altogether. An event for a hundred webhooks is a hundred. */
const mostOfProject = 10_000
const mostOfBulk = 20_000

/**
 * What is filed at once, and what is put aside because it would hold up everybody else's. A project that has something aside waits behind
 * that: its events keep their order.
 */
function divide(told: Told[], behind: ReadonlySet<ProjectId>): { now: Told[]; later: Told[] } {
  const waiting = new Set(behind)
  const ofProject = new Map<ProjectId, number>()
  let ofBulk = 0
  const [now, later]: [Told[], Told[]] = [[], []]
  for (const one of told) {
    const pairs = pairsOf(one)
    const inProject = (ofProject.get(one.home) ?? 0) + pairs
    const inBulk = one.row.item_count > 1 ? pairs : 0
    if (inProject > mostOfProject || ofBulk + inBulk > mostOfBulk) waiting.add(one.home)
    if (waiting.has(one.home)) {
      later.push(one)
      continue
    }
    now.push(one)
    ofProject.set(one.home, inProject)
    ofBulk += inBulk
  }
  return { now, later }
}

/** Some of the events of a row, for these webhooks. */
export interface Slice {
  home: ProjectId
  event_project_id: ProjectId
  event_row_id: EventId
  webhooks: WebhookId[]
  /** The first, and the one after the last. */
  from: number
  until: number
}

const wholeOf = ({ row, home, webhooks }: Told): Slice => ({
  home,
  event_project_id: row.project_id,
  event_row_id: row.id,
  webhooks,
  from: 0,
  until: row.item_count,
})

const massOf = ({ row, home, webhooks }: Told): NewMass => ({
  project_id: home,
  event_project_id: row.project_id,
  event_row_id: row.id,
  event_type: row.type,
  item_count: row.item_count,
  webhooks,
})

/**
 * Ids are UUIDv7 with 26 bits of a counter after the time, made by the database, because its clock is one for all: they stand in the order
 * of the events. What was put aside for a webhook that has been disabled since ends as what waited for it does.
 */
export async function fileDeliveries(tx: Transaction, slices: Slice[]): Promise<void> {
  if (slices.length === 0) return
  await tx.run`
    with moment as materialized (select ${timeOfId} as ms),
    told as (
      select t.*, e.type, e.items is not null as is_bulk
      from json_to_recordset(${JSON.stringify(slices.map((slice, number) => ({ ...slice, number })))})
        as t (home uuid, event_project_id uuid, event_row_id uuid, webhooks uuid[], "from" integer, until integer, number integer)
      join events e on e.project_id = t.event_project_id and e.id = t.event_row_id
    ), wanting as materialized (
      select project_id, id, status from webhooks
      where project_id = any(${[...new Set(slices.map(({ home }) => home))]}::uuid[]) order by project_id, id for key share
    ), pairs as materialized (
      select w.project_id, w.id as webhook_id, w.status = 'disabled' as is_over, t.* from told t join wanting w on w.project_id = t.home and w.id = any(t.webhooks)
    ), numbered as (
      select p.*, item, row_number() over (order by p.number, item, p.webhook_id) as place
      from pairs p cross join lateral generate_series(p."from", p.until - 1) as item
    ), filed as (
      insert into webhook_deliveries (project_id, webhook_id, id, event_project_id, event_row_id, item, event_id, event_type, status, next_at, error, created_at)
      select project_id, webhook_id, ${orderedId(sql`(select ms from moment)`, sql`place`)}, event_project_id, event_row_id, item,
        case when is_bulk then (left(event_row_id::text, 28) || lpad(to_hex(item), 8, '0'))::uuid else event_row_id end, type,
        case when is_over then 'failed' else 'pending' end, case when is_over then null else ${tx.now}::timestamptz end,
        case when is_over then ${endedEarly} end, ${tx.now}
      from numbered order by place
    )
    insert into webhook_queues as q (project_id, webhook_id, due_at, filed)
    select distinct project_id, webhook_id, now(), 1 from pairs where not is_over order by 1, 2
    on conflict (project_id, webhook_id) do update set ${addedTo}`
}
