import type { Operation } from '../../operations/define-operation.ts'

/** When `/sender` took the place of `/domain`. */
const since = new Date('2026-11-15T00:00:00Z')

/** The same operation at the path of before, marked as such. */
export const atFormerPath = (operation: Operation): Operation => ({
  ...operation,
  id: operation.id.replace('senders.', 'senders.domain_'),
  path: operation.path.replace('/sender', '/domain') as Operation['path'],
  summary: `${operation.summary} (at its former path)`,
  description: `Does what ${operation.path} does; use that.`,
  deprecated: { since, successor: operation.path },
})
