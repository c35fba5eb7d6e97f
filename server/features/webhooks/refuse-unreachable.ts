import { invalid } from '../../base/errors.ts'
import type { GuardedFetch } from '../../base/guarded-fetch/guarded-fetch.ts'

/** Asked before the transaction, because it asks the DNS. Every delivery is guarded again: a name may lead elsewhere tomorrow. */
export async function refuseUnreachable(guardedFetch: GuardedFetch, url: string): Promise<void> {
  const problem = await guardedFetch.problemOf(url)
  if (problem !== null) throw invalid('url', problem)
}
