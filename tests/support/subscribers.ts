import assert from 'node:assert/strict'
import { parseId } from '../../server/base/ids.ts'
import type { TestApp } from './posthaste.ts'
import type { TestProject } from './project.ts'

type Counts = Partial<Record<'active' | 'pending' | 'unsubscribed' | 'bounced', number>>

/** The rows, the kept counters and what the list says of itself all tell the same numbers: those that are expected. */
export async function assertCounts({ services }: TestApp, project: TestProject, listId: string, expected: Counts): Promise<void> {
  const list_id = parseId('lst', listId)
  const wanted = { active: 0, pending: 0, unsubscribed: 0, bounced: 0, ...expected }
  const rows = await services.database.first<Required<Counts>>`
    select count(*) filter (where status = 'active') as active, count(*) filter (where status = 'pending') as pending,
      count(*) filter (where status = 'unsubscribed') as unsubscribed, count(*) filter (where status = 'bounced') as bounced
    from subscribers where project_id = ${project.id} and list_id = ${list_id}`
  const kept = await services.database.first<Required<Counts>>`
    select coalesce(sum(active), 0)::bigint as active, coalesce(sum(pending), 0)::bigint as pending,
      coalesce(sum(unsubscribed), 0)::bigint as unsubscribed, coalesce(sum(bounced), 0)::bigint as bounced
    from list_counters where project_id = ${project.id} and list_id = ${list_id}`
  assert.deepEqual({ rows: { ...rows }, kept: { ...kept } }, { rows: wanted, kept: wanted })
  assert.equal((await project.get(`/lists/${listId}`)).body.subscriber_count, wanted.active)
}

/** Every message that a project ever queued, sent or not, oldest first. */
export const queuedMail = ({ services }: TestApp, project: TestProject) =>
  services.database.many<{
    id: string
    recipient: string
    status: string
    attempts: number
    smtp_code: number | null
    reason: string | null
  }>`
    select id, recipient, status, attempts, smtp_code, reason from messages where project_id = ${project.id} order by id`
