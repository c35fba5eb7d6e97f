import { invalid } from '../../base/errors.ts'
import type { Context } from '../../operations/context.ts'
import { Answer, defineOperation } from '../../operations/define-operation.ts'
import type { Draft } from './book-email.ts'
import { EmailRecord, type EmailRow, NewEmail, toEmailRecord } from './email.ts'
import { sendDraft } from './send-draft.ts'
import { findSendingMailbox } from './sending-mailbox.ts'
import { newThread } from './threading.ts'

const operation = 'emails.send'

export const sendEmail = defineOperation({
  id: operation,
  method: 'POST',
  path: '/emails',
  scope: 'send',
  mailboxKeys: 'allowed',
  agentMailbox: 'allowed',
  isPayable: true,
  summary: 'Send one e-mail to one recipient, now',
  description:
    'Answers when the outgoing server has taken the mail (201) or refused it (502), or after 30 seconds (502: it may still arrive). With an Idempotency-Key a repeat within 24 hours answers 200 with the first record and sends nothing (404 when its record has been erased since); after a 502 the same key tries again. An agent without the scope `send` may send from the mailbox that it was given, with bodies of at most 1 MiB.',
  body: NewEmail,
  bodyLimit: 10 * 1024 * 1024,
  result: EmailRecord,
  status: 201,
  errors: ['not_found', 'limit_exceeded', 'conflict', 'provider_error'],

  async run(context, { body }) {
    const sent = await sendDraft(context, { operation, turn: operation, toField: 'to', prepare: () => draftOf(context, body) })
    return new Answer(toEmailRecord(asAnswered(sent.email)), sent)
  },
})

/** What this request has done: it is sent. That the other server has it, GET tells from the same moment on. */
const asAnswered = (email: EmailRow): EmailRow => (email.status === 'delivered' ? { ...email, status: 'sent' } : email)

async function draftOf(context: Context, body: NewEmail): Promise<Draft> {
  const sender = await findSendingMailbox(context, body)
  if (body.html === undefined && body.text === undefined) throw invalid('text', 'or html is needed: a mail has at least one of the two')
  return {
    ...sender,
    to: body.to,
    reply_to: body.reply_to?.address ?? null,
    subject: body.subject,
    text: body.text ?? null,
    html: body.html ?? null,
    source_tag: body.tag ?? null,
    metadata: body.metadata ?? {},
    tags: null,
    ...newThread,
  }
}
