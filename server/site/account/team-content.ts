import { type Html, html } from '../../base/html.ts'
import { formatId } from '../../base/ids.ts'
import type { InviteRow, ShownInvite } from '../../features/invites/index.ts'
import type { MemberRow } from '../../features/members/member.ts'
import type { Membership } from '../../features/sessions/index.ts'
import { type Caller, type Role, roles } from '../../operations/context.ts'
import { idField } from './layout.ts'
import { receivedInvites } from './received-invites.ts'

interface Team {
  caller: Caller
  project: Membership
  /** The project of the installation itself, which cannot be deleted. */
  isFirst: boolean
  members: MemberRow[]
  /** Open ones of this project; none for who may not see them. */
  invites: InviteRow[]
  /** Open ones to whoever looks, from anywhere. */
  received: ShownInvite[]
}

export const teamPath = (slug: string, action = ''): string => `/account/team${action}?project=${encodeURIComponent(slug)}`

/** What is shown follows what the role may do; what is pressed is checked again by the operation behind it. */
export function teamContent(team: Team): Html {
  const isAdmin = team.caller.scopes.includes('admin')
  return html`${receivedInvites(team.received)}<p>Your role here is ${team.caller.role}.</p>${memberTable(team, isAdmin)}
${isAdmin ? html`<h2>Invite somebody</h2>${inviteForm(team)}${openInvites(team)}<h2>Rename the project</h2>${renameForm(team)}` : null}
${team.caller.role === 'owner' && !team.isFirst ? html`<h2>Delete the project</h2>${deleteForm(team)}` : null}
<h2>Begin another project</h2>${createForm(team)}`
}

const rolesOnOffer = ({ caller }: Team): Role[] => (caller.role === 'owner' ? roles : roles.filter((role) => role !== 'owner'))

const roleOptions = (offered: Role[], current: Role): Html[] =>
  offered.map((role) =>
    role === current ? html`<option value="${role}" selected>${role}</option>` : html`<option value="${role}">${role}</option>`,
  )

function memberTable(team: Team, isAdmin: boolean): Html {
  const rows = team.members.map((member) => {
    const isSelf = member.id === team.caller.user_id
    // Only owners change what owners are.
    const mayChange = isAdmin && (team.caller.role === 'owner' || member.role !== 'owner')
    return html`<tr><td>${member.email ?? member.name ?? 'without a name'}${isSelf ? html` <strong>(you)</strong>` : null}${
      member.kind === 'agent' ? html` <span class="soft">agent</span>` : null
    }</td>
<td data-label="Role">${mayChange ? roleForm(team, member) : member.role}</td><td>${mayChange || isSelf ? removeForm(team, member, isSelf ? 'Leave' : 'Remove') : null}</td></tr>`
  })
  return html`<table><thead><tr><th scope="col">Member</th><th scope="col">Role</th><th scope="col">Membership</th></tr></thead><tbody>${rows}</tbody></table>`
}

const roleForm = (team: Team, { id, email, role }: MemberRow): Html =>
  html`<form method="post" action="${teamPath(team.project.slug, '/role')}">${idField(formatId('usr', id))}
<select name="role" aria-label="Role of ${email ?? 'this member'}">${roleOptions(rolesOnOffer(team), role)}</select><button class="quiet">Save</button></form>`

const removeForm = ({ project }: Team, { id }: MemberRow, label: string): Html =>
  html`<form method="post" action="${teamPath(project.slug, '/remove')}">${idField(formatId('usr', id))}<button class="quiet">${label}</button></form>`

/** Not type=email: browsers would refuse addresses with letters beyond ASCII. */
const inviteForm = (team: Team): Html =>
  html`<form method="post" action="${teamPath(team.project.slug, '/invite')}"><label for="email">E-mail address</label>
<input type="text" id="email" name="email" inputmode="email" autocomplete="off" autocapitalize="none" maxlength="320" required><label for="role">Role</label><select id="role" name="role">${roleOptions(rolesOnOffer(team), 'editor')}</select>
<button>Send the invitation</button></form>`

const openInvites = ({ invites, project }: Team): Html | null =>
  invites.length === 0
    ? null
    : html`<table><thead><tr><th scope="col">Invited</th><th scope="col">As</th><th scope="col">Take back</th></tr></thead><tbody>${invites.map(
        ({ id, email, role }) => html`<tr><td>${email}</td><td data-label="As">${role}</td>
<td><form method="post" action="${teamPath(project.slug, '/revoke')}">${idField(formatId('inv', id))}<button class="quiet">Revoke</button></form></td></tr>`,
      )}</tbody></table>`

const renameForm = ({ project }: Team): Html =>
  html`<form method="post" action="${teamPath(project.slug, '/rename')}"><label for="rename">Name</label>
<input type="text" id="rename" name="name" maxlength="200" value="${project.name}" required><button>Rename</button></form>`

const deleteForm = ({ project }: Team): Html =>
  html`<p>Lists, subscribers, contacts, mailboxes, mail and keys of this project are gone for good. Nobody can bring them back.</p>
<form method="post" action="${teamPath(project.slug, '/delete')}"><label for="confirm">Type the project’s name, “${project.name}”, to go on</label>
<input type="text" id="confirm" name="name" autocomplete="off" required><button class="danger">Delete the project</button></form>`

const createForm = ({ project }: Team): Html =>
  html`<form method="post" action="${teamPath(project.slug, '/create')}"><label for="new">Name</label>
<input type="text" id="new" name="name" maxlength="200" required><button>Create the project</button></form>`
