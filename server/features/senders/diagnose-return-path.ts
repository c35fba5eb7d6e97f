import { type Answer, isFound, isTrouble } from '../../dns/index.ts'
import {
  conflict,
  type Finding,
  found,
  judgeAlias,
  missAlias,
  missing,
  plainHost,
  shown,
  unknown,
  valuesOf,
  wrong,
} from '../dns-records/index.ts'
import type { SenderCase } from './records.ts'

/** The host that takes mail here, for those whose name is taken: MX and SPF do in place of the CNAME. */
export interface ReturnHosts {
  mx: string
  target: string
}

export function diagnoseReturnPath(given: SenderCase, hosts: ReturnHosts): Finding {
  const { record, answers } = given
  const alias = answers[`CNAME ${record.name}`]
  if (!alias) return missing(`CNAME ${record.name} was not looked for yet.`)
  if (isTrouble(alias)) return unknown(record, alias)
  if (isFound(alias)) return judgeAlias(given, { ...alias, target: alias.found[0] as string })
  const mx = answers[`MX ${record.name}`]
  if (mx && isTrouble(mx)) return unknown(record, mx)
  if (mx && isFound(mx)) return judgeExchange(given, { mx, hosts })
  return missAlias(given)
}

/** RFC 7208 section 3.2: of two SPF records none counts. */
function judgeExchange({ record, answers }: SenderCase, { mx, hosts }: { mx: Answer & { found: string[] }; hosts: ReturnHosts }): Finding {
  const { name } = record
  const exchanges = mx.found.map((one) => plainHost(one.slice(one.indexOf(' ') + 1)))
  const foreign = exchanges.find((host) => host !== hosts.mx)
  if (foreign !== undefined)
    return conflict(`MX ${name} points at ${shown(foreign)}. Remove it and add the CNAME, or make it ${hosts.mx} alone.`)
  const texts = answers[`TXT ${name}`]
  if (texts && isTrouble(texts)) return unknown({ type: 'TXT', name }, texts)
  const policies = valuesOf(answers, `TXT ${name}`).filter((text) => /^v=spf1(\s|$)/i.test(text))
  const wanted = `v=spf1 include:${hosts.target} -all`
  if (policies.length === 0) return missing(`MX ${name} is right, and in place of the CNAME a TXT record beside it is needed: “${wanted}”.`)
  if (policies.length > 1)
    return conflict(`${name} has two SPF records, and receivers then count neither. Put them together into one: “${wanted}”.`)
  const named = (policies[0] as string).toLowerCase().split(/\s+/)
  if (named.includes(`include:${hosts.target}`) || named.includes(`redirect=${hosts.target}`)) return found
  return wrong(`The SPF record of ${name} is ${shown(policies[0] as string)}, and lacks include:${hosts.target}.`)
}
