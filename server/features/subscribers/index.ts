import type { Operation } from '../../operations/define-operation.ts'
import { createSubscriber } from './create-subscriber.ts'
import { deleteSubscriber } from './delete-subscriber.ts'
import { exportCsv, exportSubscribers } from './export-subscribers.ts'
import { getSubscriber } from './get-subscriber.ts'
import { importCsv, importSubscribers } from './import-subscribers.ts'
import { listSubscribers } from './list-subscribers.ts'
import { updateSubscriber } from './update-subscriber.ts'

export const subscriberOperations: Operation[] = [
  listSubscribers,
  createSubscriber,
  importSubscribers,
  exportSubscribers,
  getSubscriber,
  updateSubscriber,
  deleteSubscriber,
]

export { type Added, addSubscriber, askAgain } from './add-subscriber.ts'
export { type Confirmation, confirmSubscriber, findByConfirmToken } from './confirm-subscriber.ts'
export { sendConfirmationMail } from './confirmation-mail.ts'
export { countAttempt, forgetAttempts } from './crowd.ts'
export { type Bounced, countBounced, markBounced, unsubscribe } from './end-subscription.ts'
export type { ImportResult } from './import-rows.ts'
export { makeActive } from './make-active.ts'
export {
  countPaused,
  findSubscriber,
  insertSubscriber,
  lockSubscriber,
  lockSubscriberByEmail,
  lockSubscriberOfContact,
  type SubscriberKey,
  saveReason,
  saveSubscriber,
} from './subscriber-queries.ts'
export { isOfAddress, preferencesUrl, readSubscriberToken, subscriberToken } from './subscriber-token.ts'
export { exportCsv, importCsv }
