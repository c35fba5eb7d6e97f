import type { FastifyInstance } from 'fastify'
import { type Html, html } from '../../base/html.ts'
import { deleteGrantOf, listGrantsOf } from '../../features/oauth/index.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import type { Services } from '../../operations/context.ts'
import { acceptForms, fieldOf } from '../forms.ts'
import { requireSession } from '../signed-in.ts'
import { sendAccountPage } from './layout.ts'

type GrantView = Awaited<ReturnType<typeof listGrantsOf>>[number]

/** The apps that somebody let in, each with a button that throws it out. */
export function addAppPages(app: FastifyInstance, services: Services): void {
  const { config, database } = services
  acceptForms(app, config)
  const path = '/account/apps'

  app.get(path, async (request, reply) => {
    const session = await requireSession(services, request, reply)
    if (!session) return reply
    const grants = await listGrantsOf(database, session.user_id)
    const content = grants.length === 0 ? empty : html`${grants.map(grantRow)}`
    return sendAccountPage(reply, { title: 'Apps', current: path, content: html`${about}${content}` })
  })

  app.post(`${path}/revoke`, async (request, reply) => {
    const session = await requireSession(services, request, reply)
    if (!session) return reply
    const { user_id } = session
    await database.transaction(async (tx) => {
      const project_id = await deleteGrantOf(tx, user_id, fieldOf(request, 'grant'))
      const caller = { user_id, key_id: null }
      // One that is gone already, or somebody else's, is not there: the page that follows shows what is.
      if (project_id) await leaveAuditRow(tx, { project_id, operation: 'apps.revoke', caller, target: {}, request_id: request.id })
    })
    return reply.redirect(path, 303)
  })
}

const about = html`<p class="soft">Apps work for you with what you let them do, never with your sign-in. One that you throw out stops within a second.</p>`
const empty = html`<p>You have let no app in.</p>`

const grantRow = ({ grant_id, client_name, client_id, project_name, project_slug, scopes, created_at, last_used_at }: GrantView): Html =>
  html`<h2>${client_name}</h2><p>${client_id.startsWith('https://') ? html`Published by ${new URL(client_id).host}. ` : null}Project: <strong>${project_name}</strong> (${project_slug}).
May: ${scopes.join(', ')}. Let in ${dayOf(created_at)}, ${last_used_at ? `last used ${dayOf(last_used_at)}` : 'not used yet'}.</p>
<form method="post" action="/account/apps/revoke"><input type="hidden" name="grant" value="${grant_id}"><button class="quiet">Throw out</button></form>`

const dayOf = (date: Date): string => date.toISOString().slice(0, 10)
