import type { Services } from '../../operations/context.ts'
import { askStripe, type StripeAnswer } from '../payments/index.ts'

/** What every thing at Stripe has that we look for. */
interface Thing {
  id: string
  status: string
  metadata: Record<string, string>
}

export type Listed = { kind: 'found'; id: string } | { kind: 'none' } | Exclude<StripeAnswer, { kind: 'done' }>

interface List {
  path: `/v1/${string}`
  query: Record<string, string>
}

/** The newest thing of a list that is the one, however long the list is. Stripe's own search is minutes behind; its lists are not. */
export async function findInList(services: Services, { path, query }: List, isTheOne: (thing: Thing) => boolean): Promise<Listed> {
  for (let after: Record<string, string> = {}; ; ) {
    const page = new URLSearchParams({ ...query, limit: '100', ...after })
    const answer = await askStripe(services, { method: 'GET', path: `${path}?${page}` })
    if (answer.kind !== 'done') return answer
    const things = answer.body.data as Thing[]
    const found = things.find(isTheOne)
    if (found) return { kind: 'found', id: found.id }
    const last = things.at(-1)
    if (answer.body.has_more !== true || !last) return { kind: 'none' }
    after = { starting_after: last.id }
  }
}
