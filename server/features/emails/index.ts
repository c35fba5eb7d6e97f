import type { Operation } from '../../operations/define-operation.ts'
import { getEmail } from './get-email.ts'
import { sendEmail } from './send-email.ts'

export const emailOperations: Operation[] = [sendEmail, getEmail]

export type { Draft } from './book-email.ts'
export { type EmailRow, EmailTag, isMessageId, TagValue } from './email.ts'
export { failInterrupted } from './fail-interrupted.ts'
export { finishSends } from './open-sends.ts'
export { sendDraft } from './send-draft.ts'
export { boundMailboxOf, findWayBack, refuseInactive, wayBackOf } from './sending-mailbox.ts'
export { newThread, type Parent, replyTo, shortened, threadHeaders } from './threading.ts'
