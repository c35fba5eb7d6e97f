import { invalid, notFound } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { MailboxParams, toMailboxDetail } from './mailbox.ts'
import { findListAtMailbox, markMailboxDeleted } from './mailbox-queries.ts'

export const deleteMailbox = defineOperation({
  id: 'mailboxes.delete',
  method: 'DELETE',
  path: '/mailboxes/{id}',
  scope: 'write',
  summary: 'Deactivate a mailbox',
  description:
    'It refuses mail and its keys end at once; its e-mails are erased seven days later, or seven days after its end if that came before. The project may take the address again at once. Other projects cannot for 90 days, unless the address is at a domain that is verified as theirs by then: mail for it is their own. The address of a list goes with the list only.',
  params: MailboxParams,
  status: 204,
  errors: ['not_found', 'validation_error'],

  async run({ database, caller }, { params }) {
    const { project_id } = caller
    await database.transaction(async (tx) => {
      const list = await findListAtMailbox(tx, project_id, params.id)
      if (list) throw invalid('id', `is the address of the list “${list.name}”. Delete the list, or set the mailbox to paused or disabled`)
      const mailbox = await markMailboxDeleted(tx, project_id, params.id)
      if (!mailbox) throw notFound('mailbox')
      await publish(tx, project_id, 'mailbox.deleted', { mailbox_id: mailbox.id, mailbox: toMailboxDetail(mailbox) })
    })
  },
})
