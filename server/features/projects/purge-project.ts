import type { EmailId, ProjectId } from '../../base/ids.ts'
import { projectPrefix } from '../../blobs/blob-store.ts'
import type { Database } from '../../database/database.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { removeRawMail } from '../raw-mail/index.ts'
import { releaseUnused, unreleasedOf, untilLetGo } from '../usage/index.ts'
import { emptyTombstone, isTombstone, type MovedMail, movedMail, tenantTables, unpurgedProjects } from './project-queries.ts'

const chunk = 10_000
const foreignKeyViolation = '23503'

/**
 * Removes what a deleted project leaves behind, in chunks: a million rows in one transaction would hold up every event consumer. Which
 * tables there are the database knows, so that one made tomorrow is covered. Killed in between, it goes on where it was. Every night it
 * looks once more after what was deleted lately, for requests that were still on their way.
 */
export const purgeProject = defineJob<{ project_id?: ProjectId }>({
  name: 'projects.purge',
  schedule: '10 4 * * *',
  async run({ database, clock, blobs }, { project_id }) {
    const projects = project_id ? [project_id] : (await unpurgedProjects(database, clock.now())).map(({ id }) => id)
    for (const id of projects) {
      if (!(await isTombstone(database, id))) continue
      await removeMovedMail({ database, blobs }, id)
      await purge(database, id, clock.now())
      // Also of what was being filed when the project ended.
      await blobs.removeAll(projectPrefix(id))
    }
  },
})

async function purge(database: Database, project_id: ProjectId, now: Date): Promise<void> {
  await giveBack(database, project_id)
  let tables = (await tenantTables(database)).map(({ name }) => name)
  while (tables.length > 0) {
    const blocked: string[] = []
    for (const table of tables) if (!(await emptyTable(database, table, { project_id, now }))) blocked.push(table)
    // Rows that others refer to go after those; when nothing moves any more, somebody must look.
    if (blocked.length === tables.length) throw new Error(`the rows of ${blocked.join(', ')} refer to one another and cannot be purged`)
    tables = blocked
  }
  await emptyTombstone(database, project_id)
}

/** Raw messages that a merge brought lie where they were, and only the e-mails know where: they go before those. */
async function removeMovedMail(services: Pick<Services, 'database' | 'blobs'>, project_id: ProjectId): Promise<void> {
  for (let last: EmailId | null = null; ; ) {
    const moved: MovedMail[] = await movedMail(services.database, {
      project_id,
      prefix: projectPrefix(project_id),
      after: last,
      limit: 1_000,
    })
    if (moved.length === 0) return
    await removeRawMail(
      services,
      project_id,
      moved.map(({ raw_key }) => raw_key),
    )
    last = moved.at(-1)?.id ?? null
  }
}

/** What its broadcasts did not send, while the ledger can still say so: the owner's other projects share the plan, and overage is billed. */
async function giveBack(database: Database, project_id: ProjectId): Promise<void> {
  await untilLetGo(database, { project_id })
  for (const key of await unreleasedOf(database, project_id)) await database.transaction((tx) => releaseUnused(tx, key))
}

/** Long enough for every attempt to tell a webhook that the project ended; what is left then goes at night. */
const isJustDeleted = `exists (select 1 from projects p where p.id = $1 and p.deleted_at > $2::timestamptz - interval '1 hour')`
const isUnbilled = 'overage > 0 and billed_at is null'

/** What must outlive the project for a while, and who ends it. `$1` is the project, `$2` today. */
const kept: Record<string, string> = {
  // Every consumer is to read that the project ended; the outbox forgets it in its own time.
  events: `type = 'project.deleted'`,
  webhooks: `status = 'active' and 'project.deleted' = any(events) and ${isJustDeleted}`,
  webhook_deliveries: `event_type = 'project.deleted' and ${isJustDeleted}`,
  webhook_masses: `event_type = 'project.deleted' and ${isJustDeleted}`,
  webhook_queues: `exists (select 1 from webhooks w where w.project_id = $1 and w.id = webhook_id and 'project.deleted' = any(w.events))
    and ${isJustDeleted}`,
  // Billing ends the subscription, bills the last month and looks what became of a charge; then these go, too.
  billing_accounts: `coalesce(status in ('active', 'trialing', 'past_due'), false)
    or exists (select 1 from usage_periods u where u.project_id = $1 and ${isUnbilled})`,
  // Lately sent, it counts for its owner, whose free plan is one for all projects.
  usage_periods: `${isUnbilled} or period_start >= date_trunc('month', $2::timestamptz, 'UTC') - interval '1 month'`,
  // A payment is kept as long as its reference may be asked for; the job that prunes them ends it.
  payment_challenges: `status in ('charging', 'paid')`,
}

/** False when rows of another table refer to these. */
async function emptyTable(database: Database, table: string, { project_id, now }: { project_id: ProjectId; now: Date }): Promise<boolean> {
  const which = kept[table] ? `project_id = $1 and not (${kept[table]})` : 'project_id = $1'
  const values = which.includes('$2') ? [project_id, now] : [project_id]
  const name = `"${table.replaceAll('"', '""')}"`
  // The name of a table cannot be a parameter; it comes from the catalogue, and the project is one still.
  const statement = `
    with gone as (
      delete from ${name} where ${which} and ctid = any(array(select ctid from ${name} where ${which} limit ${chunk})) returning 1)
    select count(*) as removed from gone`
  try {
    for (let removed = chunk; removed >= chunk; ) removed = Number((await database.execute(statement, values)).rows[0]?.removed)
    return true
  } catch (error) {
    if ((error as { code?: string }).code === foreignKeyViolation) return false
    throw error
  }
}
