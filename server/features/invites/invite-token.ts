import { formatId, type InviteId, type ProjectId } from '../../base/ids.ts'
import { formatUuid, parseUuid } from '../../base/uuid.ts'
import type { Services } from '../../operations/context.ts'

interface InviteKey {
  project_id: ProjectId
  id: InviteId
}

/** Shows the invite to whoever got the mail. It lets nobody in: for that one signs in with the address that was invited. */
export const inviteUrl = ({ config, secrets }: Pick<Services, 'config' | 'secrets'>, { project_id, id }: InviteKey): string =>
  `${config.AUTH_URL}/invites/${formatId('inv', id)}?token=${secrets.sign('invite', Buffer.concat([project_id, id].map(parseUuid)))}`

export function parseInviteToken({ secrets }: Pick<Services, 'secrets'>, token: string): InviteKey | null {
  const payload = secrets.verify('invite', token)
  if (payload?.length !== 32) return null
  const [project_id, id] = [0, 16].map((offset) => formatUuid(payload.subarray(offset, offset + 16)))
  return { project_id, id } as InviteKey
}
