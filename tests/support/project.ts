import { formatId, type MailboxId, newId, type ProjectId, type UserId } from '../../server/base/ids.ts'
import { makeSecret } from '../../server/base/secrets.ts'
import type { Database } from '../../server/database/database.ts'
import { type EventRow, eventsOf } from '../../server/events/expand-events.ts'
import { insertRegistration } from '../../server/features/agents/registration-queries.ts'
import { insertInvite } from '../../server/features/invites/index.ts'
import { insertGrant } from '../../server/features/oauth/index.ts'
import { startSession } from '../../server/features/sessions/index.ts'
import { insertToken, makeKey } from '../../server/features/tokens/index.ts'
import { scopes as allScopes, type Role, type Scope } from '../../server/operations/context.ts'

export interface Answer {
  status: number
  headers: Headers
  /** The parsed JSON, or the text when it is none, or null without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of a body, the assertion says
  body: any
}

/** One tenant of the running program, spoken to over HTTP. */
export interface TestProject {
  id: ProjectId
  key: string
  /** Whose key it is, and their address. */
  user_id: UserId
  email: string
  get(path: string): Promise<Answer>
  post(path: string, body?: unknown): Promise<Answer>
  patch(path: string, body?: unknown): Promise<Answer>
  delete(path: string): Promise<Answer>
  request(method: string, path: string, options?: { body?: RequestInit['body']; headers?: Record<string, string> }): Promise<Answer>
  /** Signs its owner in with one more browser, and answers the session's id. */
  newSession(): Promise<string>
  /** A test's own project has no limit, unless this says otherwise. */
  setPlan(plan: string): Promise<void>
  /** The same tenant through another key. */
  withKey(scopes: readonly Scope[], mailbox_id?: MailboxId): Promise<TestProject>
  /** The same tenant through a key of somebody else, who is made for it and has this role. The key was made for all scopes. */
  addMember(role: Role): Promise<TestProject>
  /** The id of an agent that is linked to this person. */
  addAgent(): Promise<string>
  /** Of an agent that nobody has claimed yet. */
  newClaimToken(): Promise<string>
  /** The id of an open invite that both the project and this person may answer; no operation makes one. */
  addOwnInvite(): Promise<string>
  /** The id of an app that this person let in; the pages that make one are long. */
  addApp(): Promise<string>
  /** The names of the events published since the last look, oldest first. */
  events(): Promise<string[]>
  /** The same, with their data. */
  eventsWithData(): Promise<{ type: string; data: Record<string, unknown> }[]>
}

export async function createProject(database: Database, url: string, scopes: readonly Scope[]): Promise<TestProject> {
  const project_id = newId<'prj'>()
  const look = eventReader(database, project_id)
  const addPerson = (role: Role) =>
    database.transaction(async (tx) => {
      const user_id = newId<'usr'>()
      const email = `${user_id}@example.com`
      await tx.run`insert into users (id, kind, email, email_key) values (${user_id}, 'human', ${email}, ${email})`
      await tx.run`insert into projects (id, name, slug, owner_id, plan) values (${project_id}, 'Test', ${project_id}, ${user_id}, 'unlimited') on conflict do nothing`
      await tx.run`insert into members (project_id, user_id, role) values (${project_id}, ${user_id}, ${role})`
      return user_id
    })
  const speakingFor = async (user_id: UserId, wanted: readonly Scope[], mailbox_id: MailboxId | null = null): Promise<TestProject> => {
    const key = makeKey(mailbox_id !== null)
    const email = `${user_id}@example.com`
    await database.transaction((tx) =>
      insertToken(tx, { project_id, user_id, name: 'test', key, scopes: wanted, mailbox_id, expires_at: null }),
    )
    return {
      id: project_id,
      key,
      user_id,
      newSession: () => startSessionOf(database, user_id),
      email,
      ...speaking(url, key),
      setPlan: async (plan) => {
        await database.run`update projects set plan = ${plan} where id = ${project_id}`
      },
      withKey: (some, mailbox) => speakingFor(user_id, some, mailbox),
      addMember: async (role) => speakingFor(await addPerson(role), allScopes),
      addAgent: () => addAgentOf(database, user_id),
      newClaimToken: () => makeClaimToken(database),
      addOwnInvite: async () => {
        const invite = { project_id, email, email_key: email, role: 'editor', source: 'team', user_id } as const
        return formatId('inv', (await database.transaction((tx) => insertInvite(tx, invite))).id)
      },
      addApp: async () => {
        const grant_id = newId()
        const grant = { project_id, grant_id, user_id, client_id: 'test', client_name: 'Test app', scopes: [...allScopes] }
        await database.transaction((tx) => insertGrant(tx, grant))
        const made = await database.first<{ id: string }>`select id from oauth_grants where grant_id = ${grant_id}`
        return formatId('app', made?.id as string)
      },
      events: async () => (await look()).map((event) => event.type),
      eventsWithData: look,
    }
  }
  return speakingFor(await addPerson('owner'), scopes)
}

async function addAgentOf(database: Database, parent_id: UserId): Promise<string> {
  const [id, project_id] = [newId<'usr'>(), newId<'prj'>()]
  await database.run`insert into users (id, kind, name, parent_id) values (${id}, 'agent', 'swift-otter', ${parent_id})`
  await database.run`insert into projects (id, name, slug, owner_id) values (${project_id}, 'swift-otter', ${project_id}, ${id})`
  return formatId('usr', id)
}

async function makeClaimToken(database: Database): Promise<string> {
  const claim_token = `ct_${makeSecret()}`
  const registration = {
    kind: 'email',
    user_id: null,
    project_id: null,
    claim_expires_at: new Date(Date.now() + 86_400_000),
    ip: '192.0.2.1',
  } as const
  await database.transaction((tx) => insertRegistration(tx, { ...registration, claim_token }))
  return claim_token
}

async function startSessionOf(database: Database, user_id: UserId): Promise<string> {
  await database.transaction((tx) => startSession(tx, { user_id, user_agent: 'test', ip: '192.0.2.1' }))
  const newest = await database.first<{ id: string }>`select id from sessions where user_id = ${user_id} order by id desc limit 1`
  return formatId('ses', newest?.id as string)
}

function eventReader(database: Database, project_id: ProjectId) {
  let seen = 0
  return async () => {
    const rows =
      await database.many<EventRow>`select * from events where project_id = ${project_id} and position > ${seen} order by position`
    seen = rows.at(-1)?.position ?? seen
    return rows.flatMap((row) => eventsOf(row)).map(({ type, data }) => ({ type, data }))
  }
}

/** Paths are the contract's: `/lists` is below /v1, `/api/…` and `/agent/…` are at the root. */
export function speaking(url: string, key: string | null) {
  const request: TestProject['request'] = async (method, path, { body, headers = {} } = {}) => {
    const target = /^\/(api|agent)\/|^\/v1/.test(path) ? path : `/v1${path}`
    const authorization: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {}
    const response = await fetch(url + target, {
      method,
      headers: { ...authorization, ...headers },
      ...(body === undefined ? {} : { body, duplex: 'half' }),
    } as RequestInit)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: parse(text) }
  }
  const json = (method: string) => (path: string, body?: unknown) =>
    request(method, path, body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  return { request, get: json('GET'), post: json('POST'), patch: json('PATCH'), delete: json('DELETE') }
}

function parse(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
