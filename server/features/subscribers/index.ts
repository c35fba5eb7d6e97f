import type { Operation } from '../../operations/define-operation.ts'
import { createSubscriber } from './create-subscriber.ts'
import { deleteSubscriber } from './delete-subscriber.ts'
import { getSubscriber } from './get-subscriber.ts'
import { listSubscribers } from './list-subscribers.ts'
import { updateSubscriber } from './update-subscriber.ts'

export const subscriberOperations: Operation[] = [listSubscribers, createSubscriber, getSubscriber, updateSubscriber, deleteSubscriber]

export { confirmSubscriber, findByConfirmToken } from './confirm-subscriber.ts'
