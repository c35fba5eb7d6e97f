import { agentOperations } from '../features/agents/index.ts'
import { billingOperations } from '../features/billing/index.ts'
import { calendarEventOperations } from '../features/calendar-events/index.ts'
import { contactGroupOperations } from '../features/contact-groups/index.ts'
import { contactOperations } from '../features/contacts/index.ts'
import { emailOperations } from '../features/emails/index.ts'
import { eventOperations } from '../features/events/index.ts'
import { identityOperations } from '../features/identity/index.ts'
import { inboxOperations } from '../features/inbox/index.ts'
import { inviteOperations } from '../features/invites/index.ts'
import { listOperations } from '../features/lists/index.ts'
import { mailboxOperations } from '../features/mailboxes/index.ts'
import { memberOperations } from '../features/members/index.ts'
import { appOperations } from '../features/oauth/index.ts'
import { personalDataOperations } from '../features/personal-data/index.ts'
import { postOperations } from '../features/posts/index.ts'
import { projectOperations } from '../features/projects/index.ts'
import { senderOperations } from '../features/senders/index.ts'
import { sessionOperations } from '../features/sessions/index.ts'
import { siteDomainOperations } from '../features/site-domains/index.ts'
import { statsOperations } from '../features/stats/index.ts'
import { subscriberOperations } from '../features/subscribers/index.ts'
import { suppressionOperations } from '../features/suppressions/index.ts'
import { tokenOperations } from '../features/tokens/index.ts'
import { usageOperations } from '../features/usage/index.ts'
import { waitlistOperations } from '../features/waitlists/index.ts'
import { webhookOperations } from '../features/webhooks/index.ts'
import type { Operation } from './define-operation.ts'

/** Everything the program can be asked for, over whichever surface. */
export const allOperations: Operation[] = [
  ...listOperations,
  ...subscriberOperations,
  ...waitlistOperations,
  ...postOperations,
  ...senderOperations,
  ...siteDomainOperations,
  ...statsOperations,
  ...contactOperations,
  ...personalDataOperations,
  ...contactGroupOperations,
  ...suppressionOperations,
  ...mailboxOperations,
  ...inboxOperations,
  ...emailOperations,
  ...calendarEventOperations,
  ...eventOperations,
  ...webhookOperations,
  ...tokenOperations,
  ...appOperations,
  ...sessionOperations,
  ...identityOperations,
  ...agentOperations,
  ...projectOperations,
  ...memberOperations,
  ...inviteOperations,
  ...usageOperations,
  ...billingOperations,
]
