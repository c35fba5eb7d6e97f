import type { FastifyInstance, FastifyReply } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import { formatId } from '../base/ids.ts'
import { type Approval, findApproval, issueDigest, rejectPost, type ShownPost, sendShownPost, showPost } from '../features/posts/index.ts'
import { findMemberCaller } from '../features/sessions/index.ts'
import type { Services } from '../operations/context.ts'
import { runOperation } from '../operations/run-operation.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendPage } from './page.ts'
import { refusalWords } from './refusal-words.ts'

/**
 * Where the mail leads that tells an owner of a post that came by mail. The token says who they are and which post it is; mail scanners
 * follow every link, so looking (GET) changes nothing, and the buttons (POST) run the operations that the API has for it. The answer
 * says what it is about: who may write may change a draft until it is sent, and what was not seen is not approved.
 */
export function addPostApprovalPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)
  const path = '/approve/:token'

  app.get<WithToken>(path, async (request, reply) => {
    const approval = await findApproval(services, request.params.token)
    if (!approval) return sendPage(reply, 404, 'Link not valid', unknownLink)
    if (!approval.post.needs_approval || approval.post.status !== 'draft') return sendPage(reply, 200, title, decided(approval))
    return ask(services, reply, { approval, isRejecting: request.query.answer === 'reject' })
  })

  app.post<WithToken>(path, async (request, reply) => {
    const approval = await findApproval(services, request.params.token)
    if (!approval) return sendPage(reply, 404, 'Link not valid', unknownLink)
    const answer = fieldOf(request, 'answer')
    if (answer !== 'approve' && answer !== 'reject') return ask(services, reply, { approval })
    return decide(services, reply, {
      approval,
      answer,
      shown: fieldOf(request, 'shown'),
      token: request.params.token,
      request_id: request.id,
    })
  })
}

interface WithToken {
  Params: { token: string }
  Querystring: { answer?: unknown }
}

const title = 'A post by mail · Posthaste'

interface Decision {
  approval: Approval
  answer: 'approve' | 'reject'
  /** The digest of what they saw. */
  shown: string
  token: string
  request_id: string
}

async function decide(services: Services, reply: FastifyReply, decision: Decision): Promise<FastifyReply> {
  const { approval, answer, shown, request_id } = decision
  const { project_id, list_id, post_id, user_id } = approval.key
  const caller = await findMemberCaller(services.database, { project_id, user_id })
  if (!caller) return sendPage(reply, 403, title, noMember)
  const params = { listId: formatId('lst', list_id), postId: formatId('post', post_id) }
  // The mail was about a draft: one that was rejected, sent or approved since is not sent by an old link.
  if (!approval.post.needs_approval || approval.post.status !== 'draft') return sendPage(reply, 409, title, decided(approval))
  if (shown !== issueDigest(services, approval)) return askAgain(services, reply, decision)
  try {
    if (answer === 'approve') await runOperation(services, sendShownPost, { caller, request_id }, { params, query: { shown } })
    else await runOperation(services, rejectPost, { caller, request_id }, { params })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // It was changed in this very moment.
    const now = error.code === 'conflict' ? await findApproval(services, decision.token) : null
    if (now) return askAgain(services, reply, { ...decision, approval: now })
    return sendPage(reply, error.status, title, refused(approval, error))
  }
  return sendPage(reply, 200, title, answer === 'approve' ? approved(approval) : rejected(approval))
}

interface Asking {
  approval: Approval
  isRejecting?: boolean
  hasChanged?: boolean
}

const askAgain = (services: Services, reply: FastifyReply, { approval, answer }: Decision): Promise<FastifyReply> =>
  ask(services, reply, { approval, isRejecting: answer === 'reject', hasChanged: true })

async function ask(services: Services, reply: FastifyReply, asking: Asking): Promise<FastifyReply> {
  const shown = await showPost(services, asking.approval)
  return sendPage(reply, asking.hasChanged ? 409 : 200, title, question(asking, shown))
}

function question({ approval: { list }, isRejecting, hasChanged }: Asking, shown: ShownPost): Html {
  const approve = html`<button name="answer" value="approve">Send it to ${list.subscriber_count} ${list.subscriber_count === 1 ? 'reader' : 'readers'}</button>`
  const reject = html`<button class="quiet" name="answer" value="reject">Reject it</button>`
  return html`${hasChanged ? changed : null}<h1>${shown.subject}</h1><p>This came by mail for <strong>${list.name}</strong>, and is a draft. Nobody gets it unless you say so.</p>
${mailOf(shown)}
<form method="post"><input type="hidden" name="shown" value="${shown.digest}"><div class="row">${isRejecting ? [reject, approve] : [approve, reject]}</div></form>
<p class="soft">You want to change it first, or are not sure? Close the page: it stays a draft.</p>`
}

const fieldNames = {
  subject: 'Subject',
  preview_text: 'Preview text',
  body_html: 'HTML',
  body_markdown: 'Markdown',
  body_text: 'Text',
} satisfies Record<ShownPost['written'][number][0], string>

/** What readers get, and below it what it is made from, whole. Nothing of it is taken for HTML. */
const mailOf = ({ from, words, text, problem, hasPictures, hasTags, written }: ShownPost): Html =>
  html`<p class="soft">From ${from.name === null ? from.address : `${from.name} <${from.address}>`}</p>
${words === null ? html`<p class="wrong">It cannot be put together: ${problem}</p>` : html`<pre>${words}</pre>`}
${text === null ? null : html`<details><summary>Who reads mail without HTML gets this text instead</summary><pre>${text}</pre></details>`}
${hasPictures ? html`<p class="soft">It has pictures, which are not loaded here.</p>` : null}
${hasTags ? html`<p class="wrong">It has merge tags: what they stand for differs from reader to reader. Look at how it was written.</p>` : null}
<details${hasTags || words === null ? html` open` : null}><summary>As it was written</summary>${written.map(([field, source]) => html`<p class="soft">${fieldNames[field]}</p><pre>${source}</pre>`)}</details>`

const changed = html`<p class="wrong" role="alert">It was changed since you looked, and nothing has been done. This is how it is now.</p>`
const unknownLink = html`<h1>This link is not valid</h1><p>It may have been cut off on its way, be older than two weeks, or the post is gone. The drafts of a list are shown where you manage it.</p>`
const noMember = html`<h1>You are no member of this project any more</h1><p>Somebody who is has to decide.</p>`
const approved = ({ post, list }: Approval) =>
  html`<h1>It is on its way</h1><p>“${post.subject}” goes to the readers of <strong>${list.name}</strong>.</p>`
const rejected = ({ post }: Approval) => html`<h1>It is rejected</h1><p>“${post.subject}” is kept, and goes to nobody.</p>`
const decided = ({ post }: Approval) =>
  html`<h1>This is decided already</h1><p>“${post.subject}” ${post.status === 'rejected' ? 'was rejected' : 'waits for nobody any more'}.</p>`
const refused = ({ post }: Approval, error: ApiError) =>
  html`<h1>That did not work</h1><p>“${post.subject}” is as it was. ${refusalWords(error)}</p>`
