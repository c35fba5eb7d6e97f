import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, notFound } from '../../base/errors.ts'
import { type Html, html } from '../../base/html.ts'
import { formatId, parseId } from '../../base/ids.ts'
import type { Agent } from '../../features/agents/agent.ts'
import { listAgents, updateAgent } from '../../features/agents/index.ts'
import { decideInvite, type ShownInvite } from '../../features/invites/index.ts'
import { type Caller, type Services, scopes } from '../../operations/context.ts'
import type { Page } from '../../operations/page.ts'
import { runOperation } from '../../operations/run-operation.ts'
import { acceptForms, fieldOf } from '../forms.ts'
import { refusalWords } from '../refusal-words.ts'
import { shownTime } from './account.ts'
import { requireCaller, type SignedIn } from './asker.ts'
import { idField, sendAccountPage } from './layout.ts'
import { receivedInvitesOf } from './received-invites.ts'

const path = '/account/agents'
type ShownAgent = (typeof Agent)['_zod']['output']

/** What each button asks of an agent. */
const changes: Record<string, { status: string } | { send: boolean }> = {
  'switch-off': { status: 'disabled' },
  'switch-on': { status: 'active' },
  'allow-sending': { send: true },
  'stop-sending': { send: false },
}
const answers: Record<string, 'approved' | 'rejected'> = { approve: 'approved', reject: 'rejected' }

/** `/account/agents`: the agents that work for somebody, with the switch, and those that ask them into their project. */
export function addAgentPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)

  app.get(path, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    return sendAgents(services, request, reply, { signedIn })
  })

  app.post<{ Params: { action: string } }>(`${path}/:action`, async (request, reply) => {
    const signedIn = await requireCaller(services, request, reply)
    if (!signedIn) return reply
    try {
      await act(services, request, signedIn, request.params.action)
      return reply.redirect(path, 303)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error
      const notice = html`<p class="wrong" role="alert">Nothing was changed. ${refusalWords(error)}</p>`
      return sendAgents(services, request, reply, { signedIn, status: error.status, notice })
    }
  })
}

/** Agents are a person's own, whatever that person is in the project that they look at. */
const asPerson = ({ caller }: SignedIn): Caller => ({ ...caller, scopes })

async function act(services: Services, request: FastifyRequest, signedIn: SignedIn, action: string): Promise<void> {
  const caller = asPerson(signedIn)
  if (Object.hasOwn(changes, action)) {
    const input = { params: { id: fieldOf(request, 'id') }, body: changes[action] }
    await runOperation(services, updateAgent, { caller, request_id: request.id }, input)
    return
  }
  const status = Object.hasOwn(answers, action) ? answers[action] : undefined
  if (!status) throw notFound('page')
  const id = parseId('inv', fieldOf(request, 'id'))
  if (!id) throw notFound('invite')
  const send = fieldOf(request, 'send') === 'yes'
  const asked = { user_id: caller.user_id, key_id: null, project_id: null }
  await services.database.transaction((tx) => decideInvite(tx, { id, status, send, caller: asked, request_id: request.id }))
}

interface Shown {
  signedIn: SignedIn
  status?: number
  notice?: Html
}

async function sendAgents(services: Services, request: FastifyRequest, reply: FastifyReply, { signedIn, status = 200, notice }: Shown) {
  const caller = asPerson(signedIn)
  const agents = (await runOperation(services, listAgents, { caller, request_id: request.id })) as Page<ShownAgent>
  const received = await receivedInvitesOf(services, caller.user_id)
  const content = html`${notice ?? null}${requests(received.filter(({ source }) => source === 'agent'))}${agentTable(agents.items)}`
  return sendAccountPage(reply, { title: 'Your agents', current: path, project: signedIn.project.slug, status, content })
}

const requests = (invites: ShownInvite[]): Html | null =>
  invites.length === 0
    ? null
    : html`<h2>Waiting for your answer</h2>${invites.map(
        ({ id, project_name }) => html`<p>The agent <strong>${project_name}</strong> asks you to join its project, as an admin of it.</p>
<form method="post" action="${path}/approve">${idField(formatId('inv', id))}
<label class="choice"><input type="checkbox" name="send" value="yes"> <span>It may send mail</span></label>
<div class="row"><button>Approve</button><button class="quiet" formaction="${path}/reject">Reject</button></div></form>`,
      )}`

const agentTable = (agents: ShownAgent[]): Html =>
  agents.length === 0
    ? html`<p>No agent is linked to you. One that registers here can ask to be: it sends your address, and you give it the code from the mail.</p>`
    : html`<h2>Agents that work for you</h2><p>An agent that is switched off keeps what it has, and can do nothing: its keys stop within a second. Posts that it is sending are paused, until somebody resumes them; what it has scheduled, and its other mail, waits until it is switched on again.</p>
<table><thead><tr><th scope="col">Agent</th><th scope="col">May</th><th scope="col">Last used</th><th scope="col">Change</th></tr></thead><tbody>${agents.map(agentRow)}</tbody></table>`

const agentRow = (agent: ShownAgent): Html => {
  const isOff = agent.status === 'disabled'
  return html`<tr><td>${agent.name}${isOff ? html` <strong>(switched off)</strong>` : null}<br><span class="soft">${agent.email}</span></td>
<td data-label="May">${agent.scopes.join(', ')}</td><td data-label="Last used">${agent.last_used_at ? shownTime(agent.last_used_at) : 'never'}</td>
<td>${button(agent, isOff ? 'switch-on' : 'switch-off', isOff ? 'Switch on' : 'Switch off')}
${agent.scopes.includes('send') ? button(agent, 'stop-sending', 'Stop sending') : button(agent, 'allow-sending', 'Allow sending')}</td></tr>`
}

const button = ({ id }: ShownAgent, action: string, words: string): Html =>
  html`<form method="post" action="${`${path}/${action}`}">${idField(formatId('usr', id))}<button class="quiet">${words}</button></form>`
