import type { Operation } from '../../operations/define-operation.ts'
import { createMailbox } from './create-mailbox.ts'
import { deleteMailbox } from './delete-mailbox.ts'
import { getMailbox } from './get-mailbox.ts'
import { listMailboxes } from './list-mailboxes.ts'
import { updateMailbox } from './update-mailbox.ts'

export const mailboxOperations: Operation[] = [listMailboxes, createMailbox, getMailbox, updateMailbox, deleteMailbox]

export { type AddedMail, addMail, drawnPlaces, mailChannel, tellOfMail } from './add-mail.ts'
export { cleanUpMailboxes } from './clean-up-mailboxes.ts'
export { MailboxDetail, type MailboxRow, toMailboxDetail } from './mailbox.ts'
export { freeReadableName, isOwnDomain } from './mailbox-address.ts'
export {
  findMailbox,
  findMailboxByAddress,
  findOwnDomain,
  findStrayAddresses,
  insertMailbox,
  isAddressUsed,
  type ListedMailbox,
  lockName,
  markAllMailboxesDeleted,
  markMailboxDeleted,
  untieMailboxes,
} from './mailbox-queries.ts'
export { type MovedAddresses, moveAddresses } from './move-addresses.ts'
export { reachMailbox } from './reach-mailbox.ts'
export { createMailbox, deleteMailbox, listMailboxes, updateMailbox }
