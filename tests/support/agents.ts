import assert from 'node:assert/strict'
import { newId, type ProjectId, parseId, type UserId } from '../../server/base/ids.ts'
import { type EventRow, eventsOf } from '../../server/events/expand-events.ts'
import { insertToken, makeKey } from '../../server/features/tokens/index.ts'
import type { TestApp } from './posthaste.ts'
import { type Answer, speaking, type TestProject } from './project.ts'
import { until } from './until.ts'
import { capturedFor } from './visitor.ts'

/** Whoever has no key: how an agent begins. */
export const nobody = ({ url }: Pick<TestApp, 'url'>) => speaking(url, null)

export const newAddress = (name = 'human') => `${name}-${newId().slice(-12)}@example.net`

// biome-ignore lint/suspicious/noExplicitAny: what a test expects of a body, the assertion says
type Data = any

/** The data of an answer that says yes. */
export function dataOf({ status, body }: Answer, expected: number): Data {
  assert.equal(status, expected, JSON.stringify(body))
  assert.deepEqual(Object.keys(body), ['ok', 'data'])
  assert.equal(body.ok, true)
  return body.data
}

/** A no in the agents' envelope. */
export function assertNo({ status, headers, body }: Answer, expected: number, code: string): void {
  assert.deepEqual([status, body?.error?.code], [expected, code], JSON.stringify(body))
  assert.deepEqual(Object.keys(body), ['ok', 'error'])
  assert.equal(body.ok, false)
  assert.deepEqual(Object.keys(body.error), ['code', 'message'])
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
}

export const registerAnonymous = async (app: TestApp): Promise<Data> =>
  dataOf(await nobody(app).post('/agent/auth', { type: 'anonymous' }), 201)

/** Asks for a code and answers what came by mail. */
export async function askForCode(app: TestApp, claim_token: string, email: string, link = false): Promise<string> {
  const codes = async () => (await capturedFor(app, email)).flatMap(({ text }) => /^\d{6}$/m.exec(text ?? '') ?? [])
  const seen = (await codes()).length
  dataOf(await nobody(app).post('/agent/auth/claim', { claim_token, email, link }), 200)
  return until(`a code for ${email}`, async () => (await codes())[seen])
}

/** The whole way: code by mail, and back. */
export async function claimAs(app: TestApp, claim_token: string, email: string, link = false): Promise<Data> {
  const otp = await askForCode(app, claim_token, email, link)
  return dataOf(await nobody(app).post('/agent/auth/claim/complete', { claim_token, otp }), 200)
}

export const asProject = (id: string): ProjectId => parseId('prj', id) as ProjectId
export const asUser = (id: string): UserId => parseId('usr', id) as UserId

/** An agent with a key that may write: as much of a project as lists need. */
export async function registerWriter(app: TestApp): Promise<Data> {
  const agent = await registerAnonymous(app)
  const [project_id, user_id] = [asProject(agent.project_id), asUser(agent.user_id)]
  const key = makeKey(false)
  await app.services.database.transaction((tx) =>
    insertToken(tx, { project_id, user_id, name: 'more', key, scopes: ['read', 'write'], mailbox_id: null, expires_at: null }),
  )
  return { ...agent, project: { ...speaking(app.url, key), id: project_id, events: async () => [] as string[] } as TestProject }
}

/** Everything that was published in a project, oldest first. */
export async function eventsIn({ services }: TestApp, project: string): Promise<string[]> {
  const rows = await services.database.many<EventRow>`select * from events where project_id = ${asProject(project)} order by position`
  return rows.flatMap((row) => eventsOf(row)).map((event) => event.type)
}

/** The steps that the audit log knows of a registration. */
export async function stepsOf({ services }: TestApp, registration_id: string): Promise<string[]> {
  const rows = await services.database.many<{ operation: string }>`
    select operation from audit_log where target->>'registration_id' = ${registration_id} order by id`
  return rows.map((row) => row.operation)
}

/** A wrong code that is surely not the right one. */
export const wrongCode = (right: string): string => ((Number(right) + 1) % 1_000_000).toString().padStart(6, '0')
