import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from 'oidc-provider'
import { type Html, html } from '../base/html.ts'
import { formatId, type UserId } from '../base/ids.ts'
import { findUser } from '../features/identity/index.ts'
import { insertGrant, isLoopbackUri, type OAuthProvider, paths } from '../features/oauth/index.ts'
import { listProjectsOf, type Membership } from '../features/sessions/index.ts'
import { leaveAuditRow } from '../operations/audit.ts'
import { type Scope, type Services, scopes, scopesWithin, scopeWords } from '../operations/context.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendPage } from './page.ts'
import { requireSession } from './signed-in.ts'

/** What an app asks for, as the library keeps it while the person decides. */
interface Asked {
  client_id: string
  name: string
  redirect_uri: string
  resources: string[]
  /** Of ours. */
  scopes: Scope[]
  /** All of them, also those of OpenID Connect. */
  words: string[]
  /** The app is known by the address that it publishes itself at. */
  host: string | null
}

/**
 * Where somebody lets an app in, or does not. The library's cookie ties the page to the browser that came from the app; the person is
 * the one that our own session names, and the form says whom it was shown to.
 */
export function addConsentPages(app: FastifyInstance, services: Services, provider: OAuthProvider): void {
  acceptForms(app, services.config)
  const path = `${paths.interaction}/:uid`

  app.get<{ Params: { uid: string } }>(path, { exposeHeadRoute: false }, async (request, reply) => {
    const session = await requireSession(services, request, reply)
    if (!session) return reply
    const asked = await findAsked(provider, request, reply)
    if (!asked) return sendPage(reply, 404, 'Request ended', ended)
    return sendConsentPage(services, reply, { asked, user_id: session.user_id })
  })

  app.post<{ Params: { uid: string } }>(path, async (request, reply) => {
    const session = await requireSession(services, request, reply)
    if (!session) return reply
    const asked = await findAsked(provider, request, reply)
    if (!asked) return sendPage(reply, 404, 'Request ended', ended)
    const { user_id } = session
    if (fieldOf(request, 'account') !== formatId('usr', user_id))
      return sendConsentPage(services, reply, { asked, user_id, problem: 'You have signed in as somebody else meanwhile. Look again.' })
    if (fieldOf(request, 'decision') !== 'allow') return finish(provider, request, reply, refusal)
    const project = (await listProjectsOf(services.database, user_id)).find(({ slug }) => slug === fieldOf(request, 'project'))
    const ticked = request.body instanceof URLSearchParams ? request.body.getAll('scope') : []
    const chosen = asked.scopes.filter((scope) => ticked.includes(scope))
    const granted = project ? scopesWithin(project.role, chosen) : []
    if (!project || granted.length === 0) {
      return sendConsentPage(services, reply, { asked, user_id, problem: problemWith(project, chosen), chosen, project })
    }
    const grantId = await letIn(services, provider, { asked, user_id, project, granted, request_id: request.id })
    return finish(provider, request, reply, { login: { accountId: formatId('usr', user_id) }, consent: { grantId } })
  })
}

function problemWith(project: Membership | undefined, chosen: Scope[]): string {
  if (!project) return 'Choose a project.'
  if (chosen.length === 0) return 'Tick at least one thing that the app may do, or send it back.'
  return `You are ${project.role} of ${project.name}, and none of what you chose is possible there.`
}

const refusal = { error: 'access_denied', error_description: 'the person did not let the app in' }

async function finish(
  provider: OAuthProvider,
  { raw }: FastifyRequest,
  reply: FastifyReply,
  result: Parameters<OAuthProvider['interactionResult']>[2],
): Promise<FastifyReply> {
  return reply.redirect(await provider.interactionResult(raw, reply.raw, result, { mergeWithLastSubmission: false }), 303)
}

/** Null when it is over, or when it was begun in another browser. */
async function findAsked(provider: OAuthProvider, request: FastifyRequest, reply: FastifyReply): Promise<Asked | null> {
  try {
    const { uid, params } = await provider.interactionDetails(request.raw, reply.raw)
    const client_id = String(params.client_id)
    const client = await provider.Client.find(client_id)
    if (!client || uid !== (request.params as { uid: string }).uid) return null
    const words = String(params.scope ?? '').split(' ')
    return {
      client_id,
      name: client.clientName ?? 'An app without a name',
      redirect_uri: String(params.redirect_uri),
      resources: [params.resource].flat().map(String),
      scopes: scopes.filter((scope) => words.includes(scope)),
      words,
      host: client_id.startsWith('https://') ? new URL(client_id).host : null,
    }
  } catch (error) {
    if (error instanceof errors.OIDCProviderError) return null
    throw error
  }
}

interface Consent {
  asked: Asked
  user_id: UserId
  project: Membership
  granted: Scope[]
  request_id: string
}

/** The grant as the library knows it, then as we do: without ours, its tokens open nothing. */
async function letIn({ database }: Services, provider: OAuthProvider, { asked, user_id, project, granted, request_id }: Consent) {
  const refused = asked.scopes.filter((scope) => !granted.includes(scope))
  const grant = new provider.Grant({ accountId: formatId('usr', user_id), clientId: asked.client_id })
  // Our scopes count as the server's own and as the resource's; what is not decided for both is asked for again and again.
  grant.addOIDCScope([...asked.words.filter((word) => !(scopes as readonly string[]).includes(word)), ...granted].join(' '))
  if (refused.length > 0) grant.rejectOIDCScope(refused.join(' '))
  for (const resource of asked.resources) {
    grant.addResourceScope(resource, granted.join(' '))
    if (refused.length > 0) grant.rejectResourceScope(resource, refused.join(' '))
  }
  const grant_id = await grant.save()
  await database.transaction(async (tx) => {
    const { client_id, name: client_name } = asked
    await insertGrant(tx, { project_id: project.id, grant_id, user_id, client_id, client_name, scopes: granted })
    const caller = { user_id, key_id: null }
    await leaveAuditRow(tx, { project_id: project.id, operation: 'apps.allow', caller, target: {}, request_id })
  })
  return grant_id
}

interface Shown {
  asked: Asked
  user_id: UserId
  problem?: string
  /** What was ticked and chosen before: what somebody took away must not come back by itself. */
  chosen?: Scope[]
  project?: Membership | undefined
}

async function sendConsentPage(
  { database }: Services,
  reply: FastifyReply,
  { asked, user_id, problem, ...before }: Shown,
): Promise<FastifyReply> {
  const chosen = before.chosen ?? asked.scopes
  const user = await findUser(database, user_id)
  const projects = await listProjectsOf(database, user_id)
  const content = html`<h1>Let ${asked.name} in?</h1>
${problem ? html`<p class="wrong" role="alert">${problem}</p>` : null}
<p>You are signed in as <strong>${user?.email ?? user?.name ?? ''}</strong>. The app wants to work for you in one of your projects.</p>
${originOf(asked)}
<form method="post"><input type="hidden" name="account" value="${formatId('usr', user_id)}">
<label for="project">Project</label><select id="project" name="project">${projects.map(
    ({ name, slug, role }) =>
      html`<option value="${slug}"${slug === before.project?.slug ? html` selected` : null}>${name} (${slug}), you are ${role}</option>`,
  )}</select>
<p>It may then:</p>${asked.scopes.map(
    (scope) =>
      html`<label class="choice"><input type="checkbox" name="scope" value="${scope}"${chosen.includes(scope) ? html` checked` : null}><span>${scopeWords[scope]}</span></label>`,
  )}
<p class="soft">Where you may not do something yourself, the app may not either. You can take this back at any time under <a href="/account/apps">Apps</a>.</p>
<div class="row"><button name="decision" value="allow">Let it in</button><button name="decision" value="deny" class="quiet">No, go back</button></div></form>`
  return sendPage(reply, problem ? 422 : 200, `Let ${asked.name} in?`, content, { formTargets: [formTarget(asked.redirect_uri)] })
}

/** Who asks, as far as anybody can know, and where the person will end up. */
function originOf({ host, redirect_uri }: Asked): Html {
  const who = host
    ? html`It is published by <strong>${host}</strong>.`
    : html`It chose its name itself: make sure that it is the app you have just come from.`
  if (isLoopbackUri(redirect_uri))
    return html`<p class="wrong">${who} It says that it runs on the computer in front of you. Go on only if you have just started it there yourself.</p>`
  const { protocol, host: target } = new URL(redirect_uri)
  const back = target === '' ? html`the app that opens <strong>${protocol}</strong> links on this device` : html`<strong>${target}</strong>`
  return html`<p class="soft">${who} Afterwards you are brought back to ${back}.</p>`
}

/** As Content-Security-Policy names it: an origin, or the scheme alone where there is none (or one that its grammar cannot say, as [::1]). */
function formTarget(uri: string): string {
  const { origin, protocol, hostname } = new URL(uri)
  return origin === 'null' || hostname.startsWith('[') ? protocol : origin
}

const ended = html`<h1>This request has ended</h1><p>It was answered already, took too long, or was begun in another browser.
Go back to the app and start once more.</p>`
