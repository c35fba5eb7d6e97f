import type { ProjectId } from '../../../base/ids.ts'
import { wake } from '../../../base/wake.ts'
import type { Database, Transaction } from '../../../database/database.ts'
import { fileDeliveries, type Slice } from './file-deliveries.ts'
import { holdFirst, holdWebhooks, type MassRow, nextProject, readMasses, removeMasses, setNextItem } from './mass-queries.ts'

/** Deliveries that one transaction files. */
const mostAtOnce = 5_000
const mostRows = 200

/**
 * An import of one project with many webhooks makes hundreds of thousands of deliveries. The consumer of the outbox, which works for
 * everybody, only notes such rows; here they are filed piece by piece, one project after the other. A piece and the note of how far it came
 * are one transaction, so each delivery is filed once whatever is killed.
 */
export class MassFiler {
  readonly #database: Database
  #last: ProjectId | null = null

  constructor(database: Database) {
    this.#database = database
  }

  /** True when there may be more. */
  async step(): Promise<boolean> {
    const next = await nextProject(this.#database, this.#last)
    this.#last = next?.project_id ?? null
    if (!next) return false
    await this.#database.transaction((tx) => fileSome(tx, next.project_id))
    return true
  }
}

async function fileSome(tx: Transaction, project_id: ProjectId): Promise<void> {
  await holdWebhooks(tx, project_id)
  if (!(await holdFirst(tx, project_id))) return
  const masses = await readMasses(tx, project_id, mostRows)
  const ended: string[] = []
  const slices: Slice[] = []
  let left = mostAtOnce
  for (const mass of masses) {
    const slice = sliceOf(mass, left)
    if (!slice) break
    slices.push(slice)
    left -= (slice.until - slice.from) * mass.webhooks.length
    if (slice.until === mass.item_count) ended.push(mass.id)
    else await setNextItem(tx, mass, slice.until)
  }
  await fileDeliveries(tx, slices)
  await removeMasses(tx, project_id, ended)
  tx.afterCommit(() => wake('webhooks'))
}

/** As many of its events as there is room for. */
function sliceOf({ project_id, item_count, next_item, ...mass }: MassRow, room: number): Slice | null {
  const count = Math.min(item_count - next_item, Math.floor(room / mass.webhooks.length))
  if (count < 1) return null
  const { event_project_id, event_row_id, webhooks } = mass
  return { home: project_id, event_project_id, event_row_id, webhooks, from: next_item, until: next_item + count }
}
