import type { FastifyRequest } from 'fastify'
import { notFound } from '../../base/errors.ts'
import { peerOf } from '../../base/peer-address.ts'
import { findList } from '../../features/lists/index.ts'
import { findHurdle, join, remind } from '../../features/waitlists/index.ts'
import type { Services } from '../../operations/context.ts'
import { atSameTime } from '../same-time.ts'
import type { Site } from './layout.ts'

interface Visitor {
  site: Pick<Site, 'project_id' | 'list_id'>
  email: { address: string; key: string }
  name: string
  /** Whose link brought them to a waitlist. */
  ref?: string
}

/** What anybody may be told: it is the same for every address of that domain. */
type Refusal = 'disposable' | 'closed' | 'full'

/** Asks the mailbox whether it wants the list; null when that is on its way, or so it seems. */
export const subscribe = (services: Services, request: FastifyRequest, visitor: Visitor): Promise<Refusal | null> =>
  atSameTime(ask(services, request, visitor))

async function ask(services: Services, request: FastifyRequest, { site, email, name, ref = '' }: Visitor): Promise<Refusal | null> {
  const list = await findList(services.database, site)
  if (!list) throw notFound('list')
  const hurdle = await findHurdle(services, list)
  const joined = await join(services, {
    list,
    email,
    name: name.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, 200),
    ref: ref.slice(0, 100),
    source: 'form',
    from: services.secrets.mac('waitlist_peer', peerOf(request)),
  })
  if (joined.status === 'exists') await remind(services, list, joined.subscriber)
  if (hurdle) return hurdle
  const reason = 'reason' in joined ? joined.reason : null
  return reason === 'suppressed' ? null : reason
}
