import { type Html, html } from '../../base/html.ts'
import { formatId, type UserId } from '../../base/ids.ts'
import { findUser } from '../../features/identity/index.ts'
import { openInvitesTo, type ShownInvite, withArticle } from '../../features/invites/index.ts'
import type { Services } from '../../operations/context.ts'

/** The invites that wait for somebody's answer, from anywhere; oneself may be known by no address, and gets none then. */
export async function receivedInvitesOf({ database, clock }: Services, user_id: UserId): Promise<ShownInvite[]> {
  const user = await findUser(database, user_id)
  return user?.email_key ? openInvitesTo(database, user.email_key, clock.now()) : []
}

export const receivedInvites = (received: ShownInvite[]): Html | null =>
  received.length === 0
    ? null
    : html`<div class="done">${received.map(
        ({ id, project_name, role, maker_email, maker_name }) =>
          html`<p>${maker_email ?? maker_name ?? 'Somebody'} asks you to join <strong>${project_name}</strong> as ${withArticle(role)}: <a href="/invites/${formatId('inv', id)}">answer</a></p>`,
      )}</div>`
