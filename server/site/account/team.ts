import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalid, notFound } from '../../base/errors.ts'
import { type Html, html } from '../../base/html.ts'
import { formatId } from '../../base/ids.ts'
import { findInstance } from '../../features/identity/index.ts'
import { createInvite, type InviteRow, listInvites, revokeInvite } from '../../features/invites/index.ts'
import { deleteMember, listMembers, updateMember } from '../../features/members/index.ts'
import type { MemberRow } from '../../features/members/member.ts'
import { createProject, deleteProject, updateProject } from '../../features/projects/index.ts'
import { findSessionCaller } from '../../features/sessions/index.ts'
import type { Services } from '../../operations/context.ts'
import type { Operation } from '../../operations/define-operation.ts'
import type { Page } from '../../operations/page.ts'
import { type RawInput, runOperation } from '../../operations/run-operation.ts'
import { acceptForms, fieldOf } from '../forms.ts'
import { refusalWords } from '../refusal-words.ts'
import { requireCaller, type SignedIn } from './asker.ts'
import { projectChoice, sendAccountPage } from './layout.ts'
import { receivedInvitesOf } from './received-invites.ts'
import { teamContent, teamPath } from './team-content.ts'

const path = '/account/team'

/** What each form asks for. */
interface Action {
  operation: Operation
  input(request: FastifyRequest, signedIn: SignedIn): RawInput
  /** Where it leads; back to the team unless said. */
  next?(result: unknown, signedIn: SignedIn, request: FastifyRequest): string
}

const projectParams = ({ project }: SignedIn) => ({ id: formatId('prj', project.id) })
const idParams = (request: FastifyRequest) => ({ id: fieldOf(request, 'id') })
const isSelf = (request: FastifyRequest, { caller }: SignedIn) => fieldOf(request, 'id') === formatId('usr', caller.user_id)

const actions: Record<string, Action> = {
  invite: { operation: createInvite, input: (request) => ({ body: { email: fieldOf(request, 'email'), role: fieldOf(request, 'role') } }) },
  revoke: { operation: revokeInvite, input: (request) => ({ params: idParams(request) }) },
  role: { operation: updateMember, input: (request) => ({ params: idParams(request), body: { role: fieldOf(request, 'role') } }) },
  remove: {
    operation: deleteMember,
    input: (request) => ({ params: idParams(request) }),
    next: (_result, signedIn, request) => (isSelf(request, signedIn) ? '/account' : teamPath(signedIn.project.slug)),
  },
  rename: {
    operation: updateProject,
    input: (request, signedIn) => ({ params: projectParams(signedIn), body: { name: fieldOf(request, 'name') } }),
  },
  create: {
    operation: createProject,
    input: (request) => ({ body: { name: fieldOf(request, 'name') } }),
    next: (result) => teamPath((result as { slug: string }).slug),
  },
  delete: {
    operation: deleteProject,
    input: (request, signedIn) => {
      if (fieldOf(request, 'name') !== signedIn.project.name) throw invalid('name', `must be “${signedIn.project.name}”, letter by letter`)
      return { params: projectParams(signedIn) }
    },
    next: () => '/account',
  },
}

/** `/account/team?project=slug`: who works on the project, who is asked to, and the project itself. */
export function addTeamPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)

  app.get(path, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    return sendTeam(services, request, reply, { signedIn })
  })

  app.post<{ Params: { action: string } }>(`${path}/:action`, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    const action = Object.hasOwn(actions, request.params.action) ? actions[request.params.action] : undefined
    if (!action) throw notFound('page')
    try {
      const caller = await callerFor(services, action, signedIn)
      const result = await runOperation(services, action.operation, { caller, request_id: request.id }, action.input(request, signedIn))
      return reply.redirect(action.next?.(result, signedIn, request) ?? teamPath(signedIn.project.slug), 303)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error
      const notice = html`<p class="wrong" role="alert">Nothing was changed. ${refusalWords(error)}</p>`
      return sendTeam(services, request, reply.headers(error.headers), { signedIn, status: error.status, notice })
    }
  })
}

/** Making a project is a person's own affair, whatever they are in the one that they look at. */
const callerFor = async (services: Services, { operation }: Action, { caller, session }: SignedIn) =>
  operation === createProject ? ((await findSessionCaller(services.database, session, null)) ?? caller) : caller

interface Shown {
  signedIn: SignedIn
  status?: number
  notice?: Html
}

async function sendTeam(services: Services, request: FastifyRequest, reply: FastifyReply, { signedIn, status = 200, notice }: Shown) {
  const { caller, project, projects } = signedIn
  const asker = { caller, request_id: request.id }
  const isAdmin = caller.scopes.includes('admin')
  const members = (await runOperation(services, listMembers, asker)) as Page<MemberRow>
  const invites = isAdmin
    ? ((await runOperation(services, listInvites, asker, { query: { status: 'pending', limit: '200' } })) as Page<InviteRow>).items
    : []
  const content = html`${projectChoice(path, projects, project.slug)}${notice ?? null}${teamContent({
    caller,
    project,
    isFirst: (await findInstance(services.database))?.owner_project_id === project.id,
    members: members.items,
    invites: invites.filter(({ project_id }) => project_id === project.id),
    received: await receivedInvitesOf(services, caller.user_id),
  })}`
  return sendAccountPage(reply, { title: `Team of ${project.name}`, current: path, project: project.slug, status, content })
}
