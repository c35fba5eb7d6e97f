import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, notFound } from '../../base/errors.ts'
import { type Html, html } from '../../base/html.ts'
import { formatId } from '../../base/ids.ts'
import { createMailbox, deleteMailbox, type ListedMailbox, listMailboxes, updateMailbox } from '../../features/mailboxes/index.ts'
import { stateOf } from '../../features/mailboxes/mailbox.ts'
import type { Services } from '../../operations/context.ts'
import type { Operation } from '../../operations/define-operation.ts'
import type { Page } from '../../operations/page.ts'
import { type RawInput, runOperation } from '../../operations/run-operation.ts'
import { acceptForms, fieldOf } from '../forms.ts'
import { refusalWords } from '../refusal-words.ts'
import { shownTime } from './account.ts'
import { requireCaller, type SignedIn } from './asker.ts'
import { idField, projectChoice, sendAccountPage } from './layout.ts'

const path = '/account/mailboxes'

interface Action {
  operation: Operation
  input(request: FastifyRequest, services: Services): RawInput
}

const params = (request: FastifyRequest) => ({ id: fieldOf(request, 'id') })

/** What each form asks for. */
const actions: Record<string, Action> = {
  create: {
    operation: createMailbox,
    input: (request, { config }) => {
      const name = fieldOf(request, 'name')
      return { body: { type: fieldOf(request, 'type'), ...(name === '' ? {} : { address: `${name}@${config.MAIL_DOMAIN}` }) } }
    },
  },
  pause: { operation: updateMailbox, input: (request) => ({ params: params(request), body: { status: 'paused' } }) },
  resume: { operation: updateMailbox, input: (request) => ({ params: params(request), body: { status: 'active' } }) },
  delete: { operation: deleteMailbox, input: (request) => ({ params: params(request) }) },
}

/** `/account/mailboxes?project=slug`: the project's mailboxes, how much is in them, and whether they take mail. */
export function addMailboxPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)

  app.get(path, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    return sendMailboxes(services, request, reply, { signedIn })
  })

  app.post<{ Params: { action: string } }>(`${path}/:action`, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    const action = Object.hasOwn(actions, request.params.action) ? actions[request.params.action] : undefined
    if (!action) throw notFound('page')
    try {
      const asker = { caller: signedIn.caller, request_id: request.id }
      await runOperation(services, action.operation, asker, action.input(request, services))
      return reply.redirect(pathIn(signedIn.project.slug), 303)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error
      const notice = html`<p class="wrong" role="alert">Nothing was changed. ${refusalWords(error)}</p>`
      return sendMailboxes(services, request, reply.headers(error.headers), { signedIn, status: error.status, notice })
    }
  })
}

const pathIn = (slug: string, action = ''): string => `${path}${action}?project=${encodeURIComponent(slug)}`

interface Shown {
  signedIn: SignedIn
  status?: number
  notice?: Html
}

async function sendMailboxes(services: Services, request: FastifyRequest, reply: FastifyReply, { signedIn, status = 200, notice }: Shown) {
  const { caller, project, projects } = signedIn
  const { cursor } = request.query as { cursor?: unknown }
  const query = typeof cursor === 'string' && request.method === 'GET' ? { cursor } : {}
  const mailboxes = (await runOperation(
    services,
    listMailboxes,
    { caller, request_id: request.id },
    { query },
  )) as unknown as Page<ListedMailbox>
  const view = { slug: project.slug, mayChange: caller.scopes.includes('write'), now: services.clock.now() }
  const content = html`${projectChoice(path, projects, project.slug)}${notice ?? null}
<p>A mailbox takes mail for one address. Every list and every agent has one; make more for people, or for a while.</p>
${mailboxTable(mailboxes.items, view)}${mailboxes.next ? html`<p><a href="${pathIn(project.slug)}&amp;cursor=${mailboxes.next}">Older mailboxes</a></p>` : null}
${view.mayChange ? newMailboxForm(project.slug, services.config.MAIL_DOMAIN) : null}`
  return sendAccountPage(reply, { title: `Mailboxes of ${project.name}`, current: path, project: project.slug, status, content })
}

interface View {
  slug: string
  mayChange: boolean
  now: Date
}

const mailboxTable = (mailboxes: ListedMailbox[], view: View): Html =>
  mailboxes.length === 0
    ? html`<p>There are no mailboxes yet.</p>`
    : html`<table><thead><tr><th scope="col">Mailbox</th><th scope="col">State</th><th scope="col">E-mails</th>${
        view.mayChange ? html`<th scope="col">Change</th>` : null
      }</tr></thead><tbody>${mailboxes.map((mailbox) => mailboxRow(mailbox, view))}</tbody></table>`

const mailboxRow = (mailbox: ListedMailbox, view: View): Html =>
  html`<tr><td>${mailbox.address}<br><span class="soft">${[mailbox.name, kindOf(mailbox)].filter(Boolean).join(' · ')}</span></td>
<td data-label="State">${stateWords[stateOf(mailbox, view.now)]}${
    mailbox.expires_at && mailbox.expires_at > view.now ? html`<br><span class="soft">until ${shownTime(mailbox.expires_at)}</span>` : null
  }</td>
<td data-label="E-mails">${String(mailbox.email_count)}${
    mailbox.last_received_at ? html`<br><span class="soft">last ${shownTime(mailbox.last_received_at)}</span>` : null
  }</td>${view.mayChange ? html`<td>${changeForms(mailbox, view)}</td>` : null}</tr>`

const kindOf = ({ type, is_list_address, config }: ListedMailbox): string | null => {
  if (is_list_address) return 'the address of a list'
  if (type === 'proxy') return `passes mail on to ${String(config?.forward_to)}`
  return type === 'disposable' ? 'for a while' : null
}

const stateWords: Record<ReturnType<typeof stateOf>, string> = {
  active: 'takes mail',
  paused: 'paused: senders try again later',
  disabled: 'switched off: mail is refused',
  expired: 'ended: mail is refused',
}

const changeForms = (mailbox: ListedMailbox, { slug }: View): Html => {
  const id = idField(formatId('mbx', mailbox.id))
  const [action, words] = mailbox.status === 'active' ? ['/pause', 'Pause'] : ['/resume', 'Resume']
  return html`<form method="post" action="${pathIn(slug, action)}">${id}<button class="quiet">${words}</button></form>${
    mailbox.is_list_address
      ? null
      : html`<details><summary>Delete</summary><form method="post" action="${pathIn(slug, '/delete')}">${id}<span class="soft">Its e-mails are erased in seven days.</span>
<button class="quiet danger">Delete it</button></form></details>`
  }`
}

const newMailboxForm = (slug: string, domain: string): Html =>
  html`<h2>Make a new mailbox</h2><form method="post" action="${pathIn(slug, '/create')}">
<label for="name">Name before @${domain} (left empty, it gets a readable one)</label>
<input type="text" id="name" name="name" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="64">
<label for="type">How long it stays</label><select id="type" name="type"><option value="persistent">For good</option><option value="disposable">For a day</option></select>
<button>Make the mailbox</button></form>`
