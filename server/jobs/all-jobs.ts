import { lookAfterAgents, moveRest } from '../features/agents/index.ts'
import { billOverage, renewSubscriptions, watchInvoices } from '../features/billing/index.ts'
import { giveUpAuthorization } from '../features/certificates/index.ts'
import { repairContacts } from '../features/contacts/index.ts'
import { failInterrupted } from '../features/emails/index.ts'
import { expireInvites } from '../features/invites/index.ts'
import { purgeList, repairCounters } from '../features/lists/index.ts'
import { cleanUpMailboxes } from '../features/mailboxes/index.ts'
import { pruneOAuth } from '../features/oauth/index.ts'
import { prunePayments, settlePayments } from '../features/payments/index.ts'
import { eraseTraces } from '../features/personal-data/index.ts'
import { purgeProject } from '../features/projects/index.ts'
import { checkDueDomains } from '../features/senders/index.ts'
import { pruneSignIns } from '../features/sessions/index.ts'
import { checkDueSiteDomains } from '../features/site-domains/index.ts'
import { describePosts, forgetVisitors } from '../features/sites/index.ts'
import { mailInvitations, tendWaitlists } from '../features/waitlists/index.ts'
import { boundWebhookQueues, pruneWebhookDeliveries, purgeWebhook } from '../features/webhooks/index.ts'
import { cleanUp } from './clean-up.ts'
import type { Job } from './jobs.ts'

/** Everything that is done later, or again and again. */
export const allJobs: Job<never>[] = [
  purgeList,
  mailInvitations,
  tendWaitlists,
  failInterrupted,
  checkDueDomains,
  checkDueSiteDomains,
  giveUpAuthorization,
  repairCounters,
  repairContacts,
  pruneSignIns,
  forgetVisitors,
  describePosts,
  purgeProject,
  purgeWebhook,
  pruneWebhookDeliveries,
  boundWebhookQueues,
  eraseTraces,
  cleanUpMailboxes,
  expireInvites,
  pruneOAuth,
  moveRest,
  lookAfterAgents,
  billOverage,
  renewSubscriptions,
  watchInvoices,
  prunePayments,
  settlePayments,
  cleanUp,
]
