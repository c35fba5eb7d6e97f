import type { Operation } from '../../operations/define-operation.ts'
import { addGroupContacts } from './add-group-contacts.ts'
import { createContactGroup } from './create-contact-group.ts'
import { deleteContactGroup } from './delete-contact-group.ts'
import { getContactGroup } from './get-contact-group.ts'
import { listContactGroups } from './list-contact-groups.ts'
import { listGroupContacts } from './list-group-contacts.ts'
import { removeGroupContact } from './remove-group-contact.ts'
import { updateContactGroup } from './update-contact-group.ts'

export const contactGroupOperations: Operation[] = [
  listContactGroups,
  createContactGroup,
  getContactGroup,
  updateContactGroup,
  deleteContactGroup,
  listGroupContacts,
  addGroupContacts,
  removeGroupContact,
]
