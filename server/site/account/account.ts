import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../base/errors.ts'
import { type Html, html } from '../../base/html.ts'
import { formatId, parseId, type SessionId } from '../../base/ids.ts'
import { findUser } from '../../features/identity/index.ts'
import {
  listProjectsOf,
  listSessions,
  type Membership,
  type SessionRow,
  signOutEverywhere,
  signOutOf,
} from '../../features/sessions/index.ts'
import type { Services } from '../../operations/context.ts'
import { acceptForms } from '../forms.ts'
import { forgetSession, requireSession } from '../signed-in.ts'
import { browserName } from './browser-name.ts'
import { sendAccountPage } from './layout.ts'
import { receivedInvites, receivedInvitesOf } from './received-invites.ts'

/** `/account`: who I am, where I belong, and the browsers that I am signed in with. */
export function addAccountPages(app: FastifyInstance, services: Services): void {
  const { config, database, clock } = services
  acceptForms(app, config)

  app.get('/account', async (request, reply) => {
    const session = await requireSession(services, request, reply)
    if (!session) return reply
    const user = await findUser(database, session.user_id)
    const projects = await listProjectsOf(database, session.user_id)
    const sessions = await listSessions(database, session.user_id, clock.now())
    const content = html`<p>You are signed in as <strong>${user?.email ?? user?.name ?? 'somebody without an address'}</strong>.</p>${receivedInvites(await receivedInvitesOf(services, session.user_id))}
<h2>Your projects</h2>${projectTable(projects)}
<h2>Where you are signed in</h2>${sessionTable(sessions, session.id)}
<div class="row"><form method="post" action="/sign-out"><button>Sign out</button></form>
<form method="post" action="/account/sessions/sign-out-everywhere"><button class="quiet">Sign out everywhere</button></form></div>
<p class="soft">Signing out everywhere ends every one of these at once, this one too. Keys and apps go on working.</p>`
    return sendAccountPage(reply, { title: 'Your account', current: '/account', content })
  })

  app.post('/account/sessions/sign-out-everywhere', async (request, reply) => {
    const session = await requireSession(services, request, reply)
    if (!session) return reply
    await signOutEverywhere(services, { user_id: session.user_id, request_id: request.id })
    forgetSession(services, reply)
    return reply.redirect('/sign-in', 303)
  })

  app.post<{ Params: { id: string } }>('/account/sessions/:id/revoke', async (request, reply) => {
    const session = await requireSession(services, request, reply)
    if (!session) return reply
    const id = parseId('ses', request.params.id)
    const isEnded = id !== null && (await signOutOf(services, { user_id: session.user_id, id, request_id: request.id }))
    if (!isEnded) throw new ApiError('not_found', 'You have no such session; it may have ended already.')
    if (id === session.id) forgetSession(services, reply)
    return reply.redirect('/account', 303)
  })
}

const projectTable = (projects: Membership[]): Html =>
  projects.length === 0
    ? html`<p>You are in no project just now. Sign out and in again to get one of your own.</p>`
    : html`<table><thead><tr><th scope="col">Project</th><th scope="col">Your role</th><th scope="col">Settings</th></tr></thead><tbody>${projects.map(
        ({ name, slug, role }) => html`<tr><td>${name} <span class="soft">${slug}</span></td><td data-label="Your role">${role}</td>
<td><a href="/account/mailboxes?project=${encodeURIComponent(slug)}">Mailboxes</a> · <a href="/account/tokens?project=${encodeURIComponent(slug)}">Keys</a> · <a href="/account/team?project=${encodeURIComponent(slug)}">Team</a></td></tr>`,
      )}</tbody></table>`

const sessionTable = (sessions: SessionRow[], current: SessionId): Html =>
  html`<table><thead><tr><th scope="col">Browser</th><th scope="col">Last seen</th><th scope="col">End it</th></tr></thead><tbody>${sessions.map(
    ({ id, user_agent, ip, last_seen_at }) => html`<tr>
<td>${browserName(user_agent)}${id === current ? html` <strong>(this one)</strong>` : null}<br><span class="soft">${ip ?? 'unknown address'}</span></td>
<td data-label="Last seen">${shownTime(last_seen_at)}</td>
<td><form method="post" action="/account/sessions/${formatId('ses', id)}/revoke"><button class="quiet">Sign out</button></form></td></tr>`,
  )}</tbody></table>`

/** `2026-01-31 09:00 UTC`: the server does not know where the reader is. */
export const shownTime = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
