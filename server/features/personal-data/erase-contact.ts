import { defineOperation } from '../../operations/define-operation.ts'
import { ContactParams } from '../contacts/contact.ts'
import { erasePerson } from './erase-person.ts'

export const eraseContact = defineOperation({
  id: 'contacts.delete',
  method: 'DELETE',
  path: '/contacts/{id}',
  scope: 'write',
  summary: 'Erase a person',
  description:
    'The contact is gone at once, from every list and group. Within minutes so is the mail to and from them, with its raw messages and attachments, what they were invited to and invited others to, and their address in the ledgers of posts and in events; the counts of posts stay. All of it under addresses that they had before, too, unless somebody else has them by now. What is left is a hash of each address on the suppression list, so that nobody adds them again by mistake; `DELETE /suppressions/{email}` lifts it. It cannot be undone: export first.',
  params: ContactParams,
  status: 204,
  errors: ['not_found'],

  async run({ database, caller: { project_id }, jobs }, { params }) {
    await erasePerson({ database, jobs }, { project_id, contact_id: params.id })
  },
})
