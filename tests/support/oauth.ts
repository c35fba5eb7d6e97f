import assert from 'node:assert/strict'
import * as client from 'openid-client'
import { parseAddress } from '../../server/mail/address.ts'
import type { Role } from '../../server/operations/context.ts'
import type { TestApp } from './posthaste.ts'
import { createProject, type TestProject } from './project.ts'
import { signIn, type Visit, type Visitor } from './visitor.ts'

/** Where a test's app takes its codes: nobody listens there, the redirect alone tells all. */
export const callback = 'http://127.0.0.1:45454/callback'

export interface Person {
  visitor: Visitor
  email: string
  user_id: string
}

let number = 0

/** Somebody with an account, signed in the way people do. */
export async function newPerson(app: TestApp): Promise<Person> {
  const email = `person-${++number}@example.org`
  const visitor = await signIn(app, email)
  const parsed = parseAddress(email)
  const key = parsed.ok ? parsed.value.key : assert.fail(email)
  const user = await app.services.database.first<{ id: string }>`select id from users where email_key = ${key}`
  return { visitor, email, user_id: user?.id ?? assert.fail(email) }
}

/** A project that this person is a member of; its slug is its id. */
export async function projectWith(app: TestApp, person: Person, role: Role): Promise<TestProject> {
  const project = await createProject(app.services.database, app.url, ['read', 'write', 'send', 'admin'])
  await app.services.database.run`insert into members (project_id, user_id, role) values (${project.id}, ${person.user_id}, ${role})`
  return project
}

/** An app that has registered itself, as a stock client library sees it. */
export const registerApp = (app: TestApp, metadata: Partial<client.ClientMetadata> = {}): Promise<client.Configuration> =>
  client.dynamicClientRegistration(
    new URL(app.url),
    { client_name: 'Test app', redirect_uris: [callback], token_endpoint_auth_method: 'none', ...metadata },
    metadata.token_endpoint_auth_method === 'client_secret_post' ? undefined : client.None(),
    { algorithm: 'oauth2', execute: [client.allowInsecureRequests] },
  )

export interface Flow {
  /** Where the person is asked. */
  page: string
  verifier: string
  state: string
}

/** The app sends the person to us, who lands on the page that asks. */
export async function begin(config: client.Configuration, visitor: Visitor, params: Record<string, string> = {}): Promise<Flow> {
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'read write send admin',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    ...params,
  })
  const visit = await visitor.get(url.href)
  assert.equal(visit.status, 303, visit.html)
  return { page: visit.location ?? assert.fail('no way on'), verifier, state }
}

/** The person answers; what comes back is where the browser is sent in the end. */
export async function answer(
  { visitor }: Person,
  { page }: Flow,
  fields: { decision?: string; project?: string; scope?: string[] } = {},
): Promise<URL> {
  const shown = await visitor.get(page)
  assert.equal(shown.status, 200, shown.html)
  const posted = await press(visitor, page, shown, fields)
  assert.equal(posted.status, 303, posted.html)
  const resumed = await visitor.get(posted.location as string)
  assert.equal(resumed.status, 303, resumed.html)
  return new URL(resumed.location as string)
}

/** Sends the form of a consent page as it was shown, with what the person changed in it. */
export function press(
  visitor: Visitor,
  page: string,
  { html }: Visit,
  { decision = 'allow', project, scope }: { decision?: string; project?: string; scope?: string[] } = {},
): Promise<Visit> {
  const account = /name="account" value="([^"]+)"/.exec(html)?.[1] ?? assert.fail(html)
  const first = /<option value="([^"]+)"/.exec(html)?.[1] ?? assert.fail(html)
  const ticked = scope ?? [...html.matchAll(/name="scope" value="(\w+)"/g)].map((match) => match[1] as string)
  return visitor.post(page, [
    ['account', account],
    ['project', project ?? first],
    ['decision', decision],
    ...ticked.map((one): [string, string] => ['scope', one]),
  ])
}

/** From the first visit to the tokens. */
export async function letIn(
  config: client.Configuration,
  person: Person,
  { params = {}, ...fields }: { params?: Record<string, string>; project?: string; scope?: string[] } = {},
) {
  const flow = await begin(config, person.visitor, params)
  const back = await answer(person, flow, fields)
  return client.authorizationCodeGrant(config, back, { pkceCodeVerifier: flow.verifier, expectedState: flow.state })
}
