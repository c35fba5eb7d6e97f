import { formatId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import { findInstance } from '../identity/index.ts'
import type { RegistrationRow } from './agent.ts'

type Step = 'registration.created' | 'claim.requested' | 'otp.generated' | 'claim.confirmed' | 'registration.expired'

interface About {
  registration: Pick<RegistrationRow, 'id' | 'project_id'>
  request_id: string
  user_id?: UserId | null
  /** Where the row belongs, unless it is the agent's own project. */
  project_id?: ProjectId
}

/** Nobody's key is used on the way of an agent, so each step leaves a row of its own. One without a project is in the installation's log. */
export async function noteStep(tx: Transaction, step: Step, { registration, request_id, user_id, project_id }: About): Promise<void> {
  const place = project_id ?? registration.project_id ?? (await findInstance(tx))?.owner_project_id
  if (!place) throw new Error('an agent before the first start')
  const caller = user_id ? { user_id, key_id: null } : null
  await leaveAuditRow(tx, {
    project_id: place,
    operation: step,
    caller,
    target: { registration_id: formatId('reg', registration.id) },
    request_id,
  })
}
