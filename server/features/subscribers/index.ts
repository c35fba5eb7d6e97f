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

export { type Added, addSubscriber } from './add-subscriber.ts'
export { confirmSubscriber, findByConfirmToken } from './confirm-subscriber.ts'
export { isUsedUp } from './confirmation-budget.ts'
export { sendConfirmationMail } from './confirmation-mail.ts'
export { type Bounced, countBounced, markBounced, unsubscribe } from './end-subscription.ts'
export type { ImportResult } from './import-rows.ts'
export {
  findSubscriber,
  insertSubscriber,
  lockSubscriber,
  lockSubscriberByEmail,
  lockSubscriberOfContact,
  type SubscriberKey,
  saveSubscriber,
} from './subscriber-queries.ts'
export { exportCsv, importCsv }
