import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import { type InviteId, parseId } from '../base/ids.ts'
import { findUser, type UserRow } from '../features/identity/index.ts'
import {
  decideInvite,
  findInvite,
  findInviteTo,
  parseInviteToken,
  type ShownInvite,
  whyClosed,
  withArticle,
} from '../features/invites/index.ts'
import type { Services } from '../operations/context.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendPage } from './page.ts'
import { problemIn } from './refusal-words.ts'
import { sessionOf } from './signed-in.ts'

/**
 * Where the mail of an invite leads. The token in the link shows what it is about; only who is signed in with the invited address can
 * answer. Looking (GET) changes nothing, for mail scanners follow every link.
 */
export function addInvitePages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)
  const path = '/invites/:id'

  app.get<WithInvite>(path, async (request, reply) => {
    const { user, invite } = await look(services, request)
    if (!user && typeof request.query.token !== 'string') return sendToSignIn(request, reply)
    if (!invite) return sendUnknown(reply)
    const why = whyClosed(invite, services.clock.now())
    if (why !== null) return sendClosed(reply, invite, why)
    return sendOpen(request, reply, { user, invite })
  })

  app.post<WithInvite>(path, async (request, reply) => {
    const { user, invite } = await look(services, request)
    if (!user) return sendToSignIn(request, reply)
    if (!invite) return sendUnknown(reply)
    if (user.email_key !== invite.email_key) return sendOpen(request, reply, { user, invite, status: 403 })
    const status = fieldOf(request, 'answer') === 'accept' ? 'approved' : 'rejected'
    const send = fieldOf(request, 'send') === 'yes'
    const caller = { user_id: user.id, key_id: null, project_id: null }
    try {
      await services.database.transaction((tx) => decideInvite(tx, { id: invite.id, status, send, caller, request_id: request.id }))
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'validation_error') throw error
      return sendClosed(reply, invite, problemIn(error))
    }
    return reply.redirect(status === 'approved' ? `/account/team?project=${encodeURIComponent(invite.project_slug)}` : '/account', 303)
  })
}

interface WithInvite {
  Params: { id: string }
  Querystring: { token?: unknown }
}

/** Who looks, and at what: the invite that the token shows, or one that is addressed to them. */
async function look(services: Services, request: FastifyRequest<WithInvite>) {
  const { database } = services
  const session = await sessionOf(services, request as FastifyRequest)
  const user = session && (await findUser(database, session.user_id))
  const id = parseId('inv', request.params.id)
  const invite =
    id &&
    ((await shownBy(services, request.query.token, id)) ?? (user?.email_key ? await findInviteTo(database, user.email_key, id) : null))
  return { user, invite }
}

async function shownBy(services: Services, token: unknown, id: InviteId): Promise<ShownInvite | null> {
  const key = typeof token === 'string' ? parseInviteToken(services, token) : null
  return key?.id === id ? findInvite(services.database, key.project_id, id) : null
}

/** And back here. */
const signInPath = ({ url }: Pick<FastifyRequest, 'url'>): string => `/sign-in?next=${encodeURIComponent(url)}`
const sendToSignIn = (request: Pick<FastifyRequest, 'url'>, reply: FastifyReply) => reply.redirect(signInPath(request), 303)

interface Open {
  user: UserRow | null
  invite: ShownInvite
  status?: number
}

function sendOpen(request: Pick<FastifyRequest, 'url'>, reply: FastifyReply, { user, invite, status = 200 }: Open): FastifyReply {
  const asks = html`<strong>${invite.maker_email ?? invite.maker_name ?? 'Somebody'}</strong>`
  return sendPage(
    reply,
    status,
    'Invitation · Posthaste',
    html`<h1>You are invited</h1><p>${asks} asks you to join the project <strong>${invite.project_name}</strong> as ${withArticle(invite.role)}. ${meaning[invite.role]}</p>
${user?.email_key === invite.email_key ? answerForms(invite) : whoMayAnswer(request, user, invite)}`,
  )
}

const meaning: Record<ShownInvite['role'], string> = {
  owner: 'Owners may do everything, and delete the project.',
  admin: 'Admins may do everything but delete the project.',
  editor: 'Editors write and send; keys, team and billing are not theirs.',
  viewer: 'Viewers look at everything and change nothing.',
}

const answerForms = ({ source }: ShownInvite): Html =>
  html`<form method="post">${
    source === 'agent'
      ? html`<label class="choice"><input type="checkbox" name="send" value="yes"> <span>Let the agent send mail, too</span></label>`
      : null
  }<div class="row"><button name="answer" value="accept">Join the project</button><button class="quiet" name="answer" value="decline">No, thank you</button></div></form>
<p class="soft">You can leave again at any time.</p>`

const whoMayAnswer = (request: Pick<FastifyRequest, 'url'>, user: UserRow | null, { email }: ShownInvite): Html =>
  user
    ? html`<p>The invitation is for <strong>${email}</strong>, and you are signed in as <strong>${user.email ?? user.name ?? 'somebody else'}</strong>.
Sign out, open the link from the mail again, and sign in with that address.</p><form method="post" action="/sign-out"><button>Sign out</button></form>`
    : html`<p>The invitation is for <strong>${email}</strong>. Sign in with that address to answer; you come back here.</p>
<p><a href="${signInPath(request)}">Sign in</a></p><p class="soft">You do not know who this is? Close the page: without you, nothing happens.</p>`

const sendClosed = (reply: FastifyReply, { project_name }: ShownInvite, why: string): FastifyReply =>
  sendPage(
    reply,
    410,
    'Invitation · Posthaste',
    html`<h1>This invitation is over</h1><p>It asked you to join <strong>${project_name}</strong>. It ${why}.</p>
<p>Your <a href="/account">account page</a> lists the projects that you are in.</p>`,
  )

const sendUnknown = (reply: FastifyReply): FastifyReply =>
  sendPage(
    reply,
    404,
    'Invitation · Posthaste',
    html`<h1>There is no such invitation</h1><p>The link may have been cut off on its way, or the project is gone. Copy the whole link from the mail, or ask for a new one.</p>`,
  )
