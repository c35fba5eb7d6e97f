import { type Answer, isFound, isTrouble } from '../../dns/index.ts'
import { type Case, conflict, doubledName, type Finding, found, mayBeOld, missing, shown, unknown, valuesOf, wrong } from './finding.ts'

/** The host that takes mail here, for those whose name is taken: MX and SPF do in place of the CNAME. */
export interface ReturnHosts {
  mx: string
  target: string
}

export function diagnoseReturnPath(given: Case, hosts: ReturnHosts): Finding {
  const { domain, record, answers } = given
  const alias = answers[`CNAME ${record.name}`]
  if (!alias) return missing(`CNAME ${record.name} was not looked for yet.`)
  if (isTrouble(alias)) return unknown(record, alias)
  if (isFound(alias)) return judgeAlias(given, { target: plainHost(alias.found[0] as string), ttl: alias.ttl })
  const mx = answers[`MX ${record.name}`]
  if (mx && isTrouble(mx)) return unknown(record, mx)
  if (mx && isFound(mx)) return judgeExchange(given, { mx, hosts })
  if (valuesOf(answers, `CNAME ${record.name}.${domain}`).some((target) => plainHost(target) === hosts.target)) return doubledName(given)
  const addresses = valuesOf(answers, `ADDRESS ${record.name}`)
  if (addresses.length > 0)
    return wrong(
      `${record.name} answers with addresses (${shown(addresses[0] as string)}) in place of the CNAME. If your provider proxies the record (the orange cloud at Cloudflare), switch that off: “DNS only”. Else remove the A and AAAA records.`,
    )
  return missing(`CNAME ${record.name} is not there yet.`)
}

const plainHost = (host: string): string => host.toLowerCase().replace(/\.$/, '')

function judgeAlias({ domain, record }: Case, { target, ttl }: { target: string; ttl: number }): Finding {
  if (target === record.value) return found
  const old = mayBeOld({ ttl })
  if (target === `${record.value}.${domain}`)
    return wrong(
      `CNAME ${record.name} points at ${target}: your provider has put your own domain at the end. Write the target with a dot at its end, “${record.value}.”.${old}`,
    )
  if (target.startsWith(record.value) || target.endsWith(record.value))
    return wrong(`CNAME ${record.name} points at ${shown(target)}; it has to be ${record.value} and nothing else.${old}`)
  return conflict(
    `CNAME ${record.name} points at ${shown(target)}, and a name can have only one CNAME. Change it to ${record.value}, if nothing else needs it.${old}`,
  )
}

/** RFC 7208 section 3.2: of two SPF records none counts. */
function judgeExchange({ record, answers }: Case, { mx, hosts }: { mx: Answer & { found: string[] }; hosts: ReturnHosts }): Finding {
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
