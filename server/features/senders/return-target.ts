import type { Config } from '../../base/config.ts'
import { isForTrials } from '../../base/trial-name.ts'
import type { LookUps } from '../../dns/index.ts'
import type { Services } from '../../operations/context.ts'
import { plainHost, shown } from '../dns-records/index.ts'
import { returnTargetOf } from './records.ts'

type Settings = Pick<Config, 'MAIL_DOMAIN' | 'MX_HOST'>

/** What DNS has of the name that the return paths of all senders' domains point at. */
export interface ReturnTarget {
  state: 'good' | 'wrong' | 'unknown'
  seen: string
  /** What the operator has to do; null when nothing is. */
  next: string | null
}

/** The operator's own part of every sender's records: customers' CNAMEs lead here, and look right whatever is here. */
export async function lookAtReturnTarget(lookUps: Pick<LookUps, 'mx' | 'txt'>, config: Settings): Promise<ReturnTarget> {
  const target = returnTargetOf(config)
  const [mx, texts] = await Promise.all([lookUps.mx(target), lookUps.txt(target)])
  for (const answer of [mx, texts])
    if ('trouble' in answer) return { state: 'unknown', seen: `nobody can say what ${target} has: ${answer.trouble}`, next: null }
  const exchanges = 'found' in mx ? mx.found.map(({ exchange }) => plainHost(exchange)) : []
  const policies = 'found' in texts ? texts.found.filter((text) => /^v=spf1(\s|$)/i.test(text)) : []
  if (!exchanges.includes(plainHost(config.MX_HOST)))
    return {
      state: 'wrong',
      seen: exchanges[0] === undefined ? `${target} has no MX record` : `MX ${target} points at ${shown(exchanges[0])}`,
      next: `Add MX ${target} 10 ${config.MX_HOST}: bounces of mail from all domains of senders come by it, and are lost without it.`,
    }
  if (policies.length !== 1)
    return {
      state: 'wrong',
      seen: `${target} has ${policies.length === 0 ? 'no SPF record' : `${policies.length} SPF records, and receivers count none`}`,
      next: `Have one TXT record there, “v=spf1 … -all”, with the addresses that mail leaves from: without, mail from all domains of senders has DKIM alone.`,
    }
  return { state: 'good', seen: `${target} has its MX and one SPF record`, next: null }
}

/** Once, when the program starts: nobody else would notice. */
export async function warnOfReturnTarget({ dns, config, log }: Pick<Services, 'dns' | 'config' | 'log'>): Promise<void> {
  if (isForTrials(config.MAIL_DOMAIN)) return
  const { state, seen, next } = await lookAtReturnTarget(dns, config)
  if (state === 'wrong') log.warn({ seen, next }, 'the return path of senders’ domains is not set up')
}
