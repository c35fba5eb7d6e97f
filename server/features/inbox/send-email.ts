import { ApiError } from '../../base/errors.ts'
import { formatId, type MailboxId } from '../../base/ids.ts'
import { isConnectionLoss } from '../../database/database.ts'
import type { Context } from '../../operations/context.ts'
import { Answer, defineOperation } from '../../operations/define-operation.ts'
import { boundMailboxOf, type Draft, newThread, refuseInactive, replyTo, sendDraft, wayBackOf } from '../emails/index.ts'
import { reachMailbox } from '../mailboxes/index.ts'
import { InboxEmailDetail, InboxParams, type InboxRow, NewInboxEmail, rowOfSent, toInboxDetail } from './inbox-email.ts'
import { findInboxEmail, findParent } from './inbox-queries.ts'

const operation = 'inbox.send'

export const sendInboxEmail = defineOperation({
  id: operation,
  method: 'POST',
  path: '/mailboxes/{mailboxId}/emails',
  scope: 'send',
  mailboxKeys: 'allowed',
  agentMailbox: 'allowed',
  isPayable: true,
  summary: 'Send an e-mail from a mailbox, or answer one',
  description:
    'As `POST /emails`: it answers when the outgoing server has taken the mail (201) or refused it (502; it stays in the mailbox as `failed`), or after 30 seconds (502: it may still arrive). `in_reply_to` names the `message_id` of the e-mail that this answers: the answer joins its thread, here and in the programs of everybody else, and a received one becomes `replied`. With an Idempotency-Key a repeat within 24 hours answers 200 and sends nothing. An agent without the scope `send` may send from the mailbox that it was given.',
  params: InboxParams,
  body: NewInboxEmail,
  bodyLimit: 10 * 1024 * 1024,
  result: InboxEmailDetail,
  status: 201,
  errors: ['not_found', 'limit_exceeded', 'conflict', 'provider_error'],

  async run(context, { params, body }) {
    // Before the turn of its key: what a key does not reach, it hears nothing of.
    await reachToSend(context, params.mailboxId)
    const sent = await sendDraft(context, {
      operation,
      turn: `${operation} ${formatId('mbx', params.mailboxId)}`,
      toField: 'to_address',
      prepare: () => draftOf(context, params.mailboxId, body),
    })
    const { project_id, mailbox_id, id } = sent.email
    const row = await findInboxEmail(context.database, { project_id, mailbox_id, id }).catch((error: unknown) => {
      // It has left: "try again" would be a second mail.
      if (isConnectionLoss(error) && !sent.isRepeat) return rowOfSent(sent.email)
      throw error
    })
    if (!row) throw new Error('an e-mail is gone as soon as it was sent')
    return new Answer(toInboxDetail(asAnswered(row)), sent)
  },
})

/** What this request has done: it is sent. That the other server has it, GET tells from the same moment on. */
const asAnswered = (row: InboxRow): InboxRow => (row.status === 'delivered' ? { ...row, status: 'sent' } : row)

async function reachToSend({ database, caller }: Context, id: MailboxId) {
  const mailbox = await reachMailbox(database, caller, id)
  const bound = boundMailboxOf(caller)
  if (bound !== null && bound !== mailbox.id)
    throw new ApiError('forbidden', 'This key sends from its own mailbox only. Use a key with the scope "send".')
  return mailbox
}

async function draftOf(context: Context, mailbox_id: MailboxId, body: NewInboxEmail): Promise<Draft> {
  const mailbox = await reachToSend(context, mailbox_id)
  refuseInactive(mailbox, 'mailbox', context.clock.now())
  return {
    mailbox,
    ...(await wayBackOf(context, mailbox, 'mailbox')),
    hindrances: null,
    to: body.to_address,
    reply_to: null,
    subject: body.subject,
    text: body.text_body,
    html: body.html_body || null,
    source_tag: null,
    metadata: {},
    tags: body.tags ?? null,
    ...(await parentageOf(context, mailbox_id, body.in_reply_to)),
  }
}

async function parentageOf({ database, caller }: Context, mailbox_id: MailboxId, in_reply_to: string | undefined) {
  if (in_reply_to === undefined) return newThread
  return replyTo(in_reply_to, await findParent(database, { project_id: caller.project_id, mailbox_id }, in_reply_to))
}
