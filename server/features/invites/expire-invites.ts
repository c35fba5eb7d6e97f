import { defineJob } from '../../jobs/jobs.ts'
import { revokeExpired } from './invite-queries.ts'

/** What has expired cannot be accepted from that moment on; here it also stops being shown as open. */
export const expireInvites = defineJob<object>({
  name: 'invites.expire',
  schedule: '20 * * * *',
  async run({ database, clock }) {
    await revokeExpired(database, clock.now())
  },
})
