import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { UnderListParams } from '../lists/index.ts'
import { checkDomain } from './check-domain.ts'
import { reachSender } from './reach-sender.ts'
import { SenderInfo, type Sending, toSenderInfo } from './sender.ts'

export const checkSender = defineOperation({
  id: 'senders.check',
  method: 'POST',
  path: '/lists/{listId}/sender/check',
  scope: 'write',
  summary: 'Look for the DNS records of a list’s sender now',
  description:
    'Asks the domain’s own name servers, which know of a change before others do. A domain that has failed begins a new try. An answer that is younger than five seconds is given again. The default sender needs no records.',
  params: UnderListParams,
  result: SenderInfo,
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const key = { project_id: context.caller.project_id, list_id: params.listId }
    const sending = await reachSender(context, context.database, key)
    if (!sending.domain || isFresh(context, sending.domain.row)) return toSenderInfo(sending)
    await checkTogether(context, sending.domain.row)
    return toSenderInfo(await reachSender(context, context.database, key))
  },
})

const freshMs = 5_000

type Row = NonNullable<Sending['domain']>['row']

const isFresh = ({ clock }: Context, { last_checked_at }: Row): boolean =>
  last_checked_at !== null && Math.abs(clock.now().getTime() - last_checked_at.getTime()) < freshMs

/** Those who ask while somebody else does wait for the same answer. */
const underWay = new WeakMap<Context['dns'], Map<string, Promise<void>>>()

function checkTogether(context: Context, { project_id, domain }: Row): Promise<void> {
  const checks = underWay.get(context.dns) ?? new Map<string, Promise<void>>()
  underWay.set(context.dns, checks)
  const name = `${project_id} ${domain}`
  const running = checks.get(name)
  if (running) return running
  const check = checkDomain(context, { project_id, domain }, { isAsked: true }).finally(() => checks.delete(name))
  checks.set(name, check)
  return check
}
