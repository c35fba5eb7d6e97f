import { z } from 'zod'
import type { Config } from '../../base/config.ts'
import { type AppId, idOf, type ProjectId, type UserId } from '../../base/ids.ts'
import { type Role, type Scope, scopes } from '../../operations/context.ts'
import { timestamp } from '../../operations/schemas.ts'

type Urls = Pick<Config, 'PUBLIC_URL' | 'API_URL' | 'AUTH_URL' | 'MCP_URL'>

/** What a token may be for (RFC 8707): the site, the API, the identity endpoints, the MCP server. */
export const resourcesOf = ({ PUBLIC_URL, API_URL, AUTH_URL, MCP_URL }: Urls): string[] => [
  ...new Set([PUBLIC_URL, API_URL, AUTH_URL, MCP_URL]),
]

/** What a token must be for to open the API. One that was made for the MCP server stays there. */
export const apiAudiences = ({ PUBLIC_URL, API_URL, AUTH_URL }: Urls): string[] => [PUBLIC_URL, API_URL, AUTH_URL]

/** The resource that a client means, or null for one that is not ours. Clients differ in whether they end it with a slash. */
export const resourceNamed = (config: Urls, identifier: string): string | null =>
  resourcesOf(config).find((resource) => resource === identifier || `${resource}/` === identifier) ?? null

/** An app that somebody let into a project. */
export interface GrantRow {
  project_id: ProjectId
  id: AppId
  grant_id: string
  user_id: UserId
  client_id: string
  client_name: string
  scopes: Scope[]
  created_at: Date
  last_used_at: Date | null
}

export const App = z
  .object({
    id: idOf('app'),
    client_id: z.string(),
    client_name: z.string().meta({ description: 'As the app calls itself' }),
    user_id: idOf('usr').meta({ description: 'Who let it in, and whose role it cannot exceed' }),
    scopes: z.array(z.enum(scopes)),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'App' })

/** A grant with the name of the project that it opens. */
export interface GrantView extends GrantRow {
  project_name: string
  project_slug: string
}

/** An access token with what decides over it now. */
export interface LiveAccess {
  payload: Buffer
  expires_at: Date
  grant_id: string
  user_id: UserId
  project_id: ProjectId
  granted: Scope[]
  role: Role
  space: string
}

/** What a sealed text is tied to: moved to another row, it does not open. */
export const placeOf = (model: string, idHash: Buffer): string => `${model} ${idHash.toString('hex')}`
