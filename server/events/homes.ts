import type { ProjectId } from '../base/ids.ts'
import type { Queryable } from '../database/database.ts'

/**
 * Which of these projects were merged into another, and into which. Events stay where they happened, while what they are about, and whoever
 * wants to hear of them, has moved: what an event leaves behind belongs there. Nothing is merged twice, so there are no chains. A consumer
 * looks for what it needs in the event's own project first, holds it, and asks this after that: a merge either waits for the consumer or has
 * been committed, and is seen here.
 */
export async function findHomes(db: Queryable, projects: ProjectId[]): Promise<Map<ProjectId, ProjectId>> {
  const merged = await db.many<{ project_id: ProjectId; merged_into: ProjectId }>`
    select project_id, merged_into from agent_registrations where project_id = any(${projects}::uuid[]) and merged_into is not null`
  return new Map(merged.map(({ project_id, merged_into }) => [project_id, merged_into]))
}

/** The other way round: whose events may be about what is in this project now. */
export async function findMerged(db: Queryable, project_id: ProjectId): Promise<ProjectId[]> {
  const merged = await db.many<{ project_id: ProjectId }>`
    select project_id from agent_registrations where merged_into = ${project_id} and project_id is not null order by project_id`
  return merged.map((row) => row.project_id)
}
