import { emailsIn, fileMail, verdictsOf } from './inbound.ts'
import type { TestApp } from './posthaste.ts'
import { mailTo } from './received-mail.ts'
import type { SmtpPeer } from './smtp-peer.ts'

export interface Question {
  from?: string
  headers?: string[]
}

let number = 0
/** A proxy mailbox that somebody outside has written to, and what its owner answers them with. */
export async function newProxyConversation(app: TestApp, peer: SmtpPeer, question: Question = {}) {
  const project = await app.newProject()
  const owner = `owner-${++number}@home.example`
  const outside = `lea-${number}@outside.example`
  const question_id = `q-${number}@outside.example`
  const { body: mailbox } = await project.post('/mailboxes', { type: 'proxy', name: 'Shop', config: { forward_to: owner } })
  await fileMail(app, { recipients: [mailbox.address], from: outside, envelope_from: outside, message_id: question_id, ...question })
  const forward = await mailTo(peer, owner)
  await project.events()
  const answer = {
    recipients: [forward.from?.address as string],
    from: owner,
    envelope_from: owner,
    headers: [`In-Reply-To: ${forward.messageId}`, `References: ${forward.references} ${forward.messageId}`],
    verdicts: verdictsOf('home.example'),
  }
  const last = async () => (await emailsIn(app, project)).at(-1)
  return {
    project,
    owner,
    outside,
    question_id,
    forward,
    answer,
    path: `/mailboxes/${mailbox.id}`,
    address: mailbox.address as string,
    last,
  }
}
