import type { Found } from '../../dns/index.ts'
import type { Finding } from './dns-record.ts'
import { type Case, conflict, doubledName, found, mayBeOld, missing, shown, valuesOf, wrong } from './finding.ts'

/** In small letters, without the dot at its end. */
export const plainHost = (host: string): string => host.toLowerCase().replace(/\.$/, '')

/** Of a CNAME that is there. */
export function judgeAlias({ domain, record }: Case, alias: Pick<Found, 'ttl' | 'isFirstHand'> & { target: string }): Finding {
  const target = plainHost(alias.target)
  if (target === record.value) return found
  const old = mayBeOld(alias)
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

/** Of a CNAME that is not there: it may have landed elsewhere, or something else is in its place. */
export function missAlias(given: Case): Finding {
  const { domain, record, answers } = given
  if (valuesOf(answers, `CNAME ${record.name}.${domain}`).some((target) => plainHost(target) === record.value)) return doubledName(given)
  const [address] = valuesOf(answers, `ADDRESS ${record.name}`)
  if (address !== undefined)
    return wrong(
      `${record.name} answers with addresses (${shown(address)}) in place of the CNAME. If your provider proxies the record (the orange cloud at Cloudflare), switch that off: “DNS only”. Else remove the A and AAAA records.`,
    )
  return missing(`CNAME ${record.name} is not there yet.`)
}
