import type { ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import type { EventType } from '../../events/catalogue.ts'

type RecipientEvent = EventType & `email.${string}`

/**
 * Whether anybody in this project reads such events. A million recipients must not become three million rows that nobody reads: the
 * ledger is their source, and an event is written for a webhook, an automation or a live stream that asked for the type. None of
 * these exists yet. Bounces and complaints are few, and the activity feed shows them: they are always wanted.
 */
export const wantsEvent = async (_db: Queryable, _project_id: ProjectId, type: RecipientEvent): Promise<boolean> =>
  type === 'email.bounced' || type === 'email.complained'
