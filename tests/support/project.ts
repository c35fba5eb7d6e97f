import { type MailboxId, newId, type ProjectId } from '../../server/base/ids.ts'
import type { Database } from '../../server/database/database.ts'
import { type EventRow, eventsOf } from '../../server/events/expand-events.ts'
import { insertToken, makeKey } from '../../server/features/tokens/index.ts'
import type { Scope } from '../../server/operations/context.ts'

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
  get(path: string): Promise<Answer>
  post(path: string, body?: unknown): Promise<Answer>
  patch(path: string, body?: unknown): Promise<Answer>
  delete(path: string): Promise<Answer>
  request(method: string, path: string, options?: { body?: RequestInit['body']; headers?: Record<string, string> }): Promise<Answer>
  /** The same tenant through another key. */
  withKey(scopes: readonly Scope[], mailbox_id?: MailboxId): Promise<TestProject>
  /** The names of the events published since the last look, oldest first. */
  events(): Promise<string[]>
  /** The same, with their data. */
  eventsWithData(): Promise<{ type: string; data: Record<string, unknown> }[]>
}

export async function createProject(database: Database, url: string, scopes: readonly Scope[]): Promise<TestProject> {
  const { project_id, user_id } = await database.transaction(async (tx) => {
    const [project_id, user_id] = [newId<'prj'>(), newId<'usr'>()]
    await tx.run`insert into users (id, kind, email, email_key) values (${user_id}, 'human', ${`${user_id}@example.com`}, ${`${user_id}@example.com`})`
    await tx.run`insert into projects (id, name, slug, owner_id) values (${project_id}, 'Test', ${project_id}, ${user_id})`
    await tx.run`insert into members (project_id, user_id, role) values (${project_id}, ${user_id}, 'owner')`
    return { project_id, user_id }
  })
  const look = eventReader(database, project_id)
  const withKey = async (wanted: readonly Scope[], mailbox_id: MailboxId | null = null): Promise<TestProject> => {
    const key = makeKey(mailbox_id !== null)
    await database.transaction((tx) =>
      insertToken(tx, { project_id, user_id, name: 'test', key, scopes: wanted, mailbox_id, expires_at: null }),
    )
    return {
      id: project_id,
      key,
      ...speaking(url, key),
      withKey,
      events: async () => (await look()).map((event) => event.type),
      eventsWithData: look,
    }
  }
  return withKey(scopes)
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

/** Paths are the contract's: `/lists` is below /v1, `/api/…` is at the root. */
export function speaking(url: string, key: string | null) {
  const request: TestProject['request'] = async (method, path, { body, headers = {} } = {}) => {
    const target = path.startsWith('/api/') || path.startsWith('/v1') ? path : `/v1${path}`
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
