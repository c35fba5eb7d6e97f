import { formatId } from '../base/ids.ts'
import { pageTokens, type TokenRow } from '../features/tokens/index.ts'
import { findProject } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { formatTable } from './table.ts'

const most = 1_000

export async function listKeys({ project: slug }: { project: string | undefined }): Promise<void> {
  await withDatabase(async ({ database }) => {
    const project = await findProject(database, slug)
    const tokens = await pageTokens(database, project.id, null, most)
    if (tokens.length === 0) return console.log(`Project "${project.slug}" has no keys. Make one: posthaste keys create`)
    console.log(formatTable(['id', 'name', 'prefix', 'scopes', 'last used', 'expires'], tokens.map(toCells)))
    if (tokens.length === most) console.error(`These are the newest ${most}.`)
  })
}

const toCells = (token: TokenRow): string[] => [
  formatId('key', token.id),
  token.name,
  token.prefix,
  token.scopes.join(','),
  token.last_used_at ? minute(token.last_used_at) : 'never',
  token.expires_at ? minute(token.expires_at) : 'never',
]

/** `2026-11-15 09:00Z` */
const minute = (date: Date): string => `${date.toISOString().slice(0, 16).replace('T', ' ')}Z`
