import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { checkConfig } from './forwarding.ts'
import { checkEnd } from './lifetime.ts'
import { MailboxChanges, MailboxDetail, MailboxParams, toMailboxDetail } from './mailbox.ts'
import { findListAtMailbox, lockMailbox, updateMailbox as saveMailbox } from './mailbox-queries.ts'
import { refuseBeyond } from './reach-mailbox.ts'

export const updateMailbox = defineOperation({
  id: 'mailboxes.update',
  method: 'PATCH',
  path: '/mailboxes/{id}',
  scope: 'write',
  mailboxKeys: 'allowed',
  summary: 'Rename, pause or disable a mailbox, or change its settings or its end',
  description:
    'Fields left out stay as they are; `config` takes the place of the whole config. A mailbox whose end has come takes mail again when `expires_at` is moved within seven days of it. A key of one mailbox changes that mailbox.',
  params: MailboxParams,
  body: MailboxChanges,
  result: MailboxDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller, config: settings }, { params, body }) {
    const { project_id } = caller
    return database.transaction(async (tx) => {
      const before = refuseBeyond(caller, await lockMailbox(tx, project_id, params.id))
      if (body.expires_at) {
        checkEnd(body.expires_at, tx.now)
        if (await findListAtMailbox(tx, project_id, params.id))
          throw invalid('expires_at', 'cannot be set: this is the address of a list, and stays for as long as the list does')
      }
      const mailbox = { ...before }
      Object.assign(mailbox, body, body.config === undefined ? {} : { config: checkConfig(settings, before.type, body.config) })
      if (isDeepStrictEqual(mailbox, before)) return toMailboxDetail(before)
      await saveMailbox(tx, mailbox)
      const detail = toMailboxDetail(mailbox)
      await publish(tx, project_id, 'mailbox.updated', { mailbox_id: mailbox.id, mailbox: detail })
      return detail
    })
  },
})
