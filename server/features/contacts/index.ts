import type { Operation } from '../../operations/define-operation.ts'
import { getContact } from './get-contact.ts'
import { getContactActivity } from './get-contact-activity.ts'
import { getContactEmails } from './get-contact-emails.ts'
import { getContactLists } from './get-contact-lists.ts'
import { listContacts } from './list-contacts.ts'
import { updateContact } from './update-contact.ts'

export const contactOperations: Operation[] = [
  listContacts,
  getContact,
  updateContact,
  getContactLists,
  getContactActivity,
  getContactEmails,
]

export { changeContactCount } from './contact-counter.ts'
export { pageGroupContacts } from './contact-page-queries.ts'
export { findContact, lockContact, lockContactByEmail } from './contact-queries.ts'
export { enrichContact, type KnownOfContact, meetByForm, nameContact, renameContact } from './enrich-contact.ts'
export { type FormerAddress, formerAddresses, formerAddressesToShow, keepFormerAddress, takeFormerAddresses } from './former-addresses.ts'
export { meetAgent } from './meet-agent.ts'
export { type Heard, holdContactsByAddress, type Met, meetPeople, noteWriting } from './meet-people.ts'
export { nameContacts } from './name-contacts.ts'
export { repairContacts } from './repair-contacts.ts'
