import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../base/errors.ts'
import { type Html, html } from '../../base/html.ts'
import { formatId } from '../../base/ids.ts'
import { createToken, deleteToken, listTokens, type TokenRow } from '../../features/tokens/index.ts'
import { type Caller, type Services, scopes, scopeWords } from '../../operations/context.ts'
import type { Page } from '../../operations/page.ts'
import { runOperation } from '../../operations/run-operation.ts'
import { acceptForms, fieldOf } from '../forms.ts'
import { refusalWords } from '../refusal-words.ts'
import { shownTime } from './account.ts'
import { requireCaller, type SignedIn } from './asker.ts'
import { projectChoice, sendAccountPage } from './layout.ts'

const path = '/account/tokens'

/** `/account/tokens?project=slug`: the project's keys. A new one is shown on the answer to its form, once. */
export function addTokenPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)

  app.get(path, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    return sendTokens(services, request, reply, { signedIn })
  })

  app.post(path, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    try {
      const asker = { caller: signedIn.caller, request_id: request.id }
      const made = (await runOperation(services, createToken, asker, { body: wantedToken(request) })) as TokenRow & { key: string }
      return await sendTokens(services, request, reply, { signedIn, status: 201, notice: newKey(made) })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'validation_error') throw error
      const notice = html`<p class="wrong" role="alert">No key was made. ${refusalWords(error)}</p>`
      return sendTokens(services, request, reply, { signedIn, status: error.status, notice })
    }
  })

  app.post<{ Params: { id: string } }>(`${path}/:id/revoke`, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    await runOperation(services, deleteToken, { caller: signedIn.caller, request_id: request.id }, { params: { id: request.params.id } })
    return reply.redirect(pathIn(signedIn.project.slug), 303)
  })
}

const pathIn = (slug: string, more = ''): string => `${path}${more}?project=${encodeURIComponent(slug)}`

/** A day begins at midnight in UTC, as on the command line. */
function wantedToken(request: FastifyRequest) {
  const scope = request.body instanceof URLSearchParams ? request.body.getAll('scope').join(',') : ''
  const expires = fieldOf(request, 'expires')
  const expires_at = expires === '' ? null : /^\d{4}-\d\d-\d\d$/.test(expires) ? `${expires}T00:00:00Z` : expires
  return { name: fieldOf(request, 'name'), scope, expires_at }
}

interface Shown {
  signedIn: SignedIn
  status?: number
  notice?: Html
}

async function sendTokens(services: Services, request: FastifyRequest, reply: FastifyReply, { signedIn, status = 200, notice }: Shown) {
  const { caller, project, projects } = signedIn
  const page = { title: `Keys of ${project.name}`, current: path, project: project.slug } as const
  const choice = projectChoice(path, projects, project.slug)
  if (!caller.scopes.includes('admin')) {
    const content = html`${choice}<p>Your role in this project is ${caller.role}. Its keys are for its owners and admins; ask one of them.</p>`
    return sendAccountPage(reply, { ...page, status: 403, content })
  }
  const tokens = (await runOperation(services, listTokens, { caller, request_id: request.id })) as Page<TokenRow>
  const content = html`${choice}${notice ?? null}
<p>A key lets a program use the API as this project. Whoever has it can do what it may do: keep it like a password.</p>
${tokenTable(tokens.items, project.slug)}${newTokenForm(caller, project.slug)}`
  return sendAccountPage(reply, { ...page, status, content })
}

const newKey = ({ name, key }: { name: string; key: string }): Html =>
  html`<div class="done" role="status"><p>The key “${name}”. It is shown this once, so copy it now:</p><pre>${key}</pre></div>`

const tokenTable = (tokens: TokenRow[], slug: string): Html =>
  tokens.length === 0
    ? html`<p>There are no keys yet.</p>`
    : html`<table><thead><tr><th scope="col">Key</th><th scope="col">May</th><th scope="col">Last used</th><th scope="col">Revoke</th></tr></thead><tbody>${tokens.map(
        (
          token,
        ) => html`<tr><td>${token.name}<br><code>${token.prefix}…</code>${token.mailbox_id ? html` <span class="soft">one mailbox</span>` : null}</td>
<td data-label="May">${token.scopes.join(', ')}<br><span class="soft">${token.expires_at ? `until ${shownTime(token.expires_at)}` : 'does not expire'}</span></td>
<td data-label="Last used">${token.last_used_at ? shownTime(token.last_used_at) : 'never'}</td>
<td><form method="post" action="${pathIn(slug, `/${formatId('key', token.id)}/revoke`)}"><button class="quiet">Revoke</button></form></td></tr>`,
      )}</tbody></table>`

const newTokenForm = (caller: Caller, slug: string): Html =>
  html`<h2>Make a new key</h2><form method="post" action="${pathIn(slug)}">
<label for="name">What it is for</label><input type="text" id="name" name="name" maxlength="100" required>
<fieldset><legend>What it may do</legend>${scopes
    .filter((scope) => caller.scopes.includes(scope))
    .map((scope) =>
      scope === 'read'
        ? html`<label class="choice"><input type="checkbox" name="scope" value="read" checked> <span><strong>read</strong>: ${scopeWords.read}</span></label>`
        : html`<label class="choice"><input type="checkbox" name="scope" value="${scope}"> <span><strong>${scope}</strong>: ${scopeWords[scope]}</span></label>`,
    )}</fieldset>
<label for="expires">When it stops working, if it shall</label><input type="date" id="expires" name="expires">
<button>Make the key</button></form>`
