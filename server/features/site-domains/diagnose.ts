import { isFound, isMissing, isTrouble } from '../../dns/index.ts'
import { isWithin } from '../../mail/domain-name.ts'
import {
  type Answers,
  doubledName,
  type Finding,
  type Findings,
  found,
  isNowhere,
  judgeAlias,
  mayBeOld,
  missAlias,
  missing,
  shortName,
  shown,
  unknown,
  valuesOf,
  wrong,
} from '../dns-records/index.ts'
import { aboutOf, type SiteCase, type SiteRecord } from './records.ts'

interface Surveyed {
  zone: string
  wanted: SiteRecord[]
  answers: Answers
  /** It was shown before whose the domain is: its TXT record may be gone. */
  isProved: boolean
}

/** What the answers say of each record. No network, no clock: the same answers always say the same. */
export function diagnose({ zone, wanted, answers, isProved }: Surveyed): Findings {
  const nowhere = isNowhere(answers[`TXT ${zone}`]) && !isThere(zone, answers)
  const findingOf = (record: SiteRecord): Finding => {
    if (record.type === 'TXT' && isProved && !nowhere) return found
    const finding = nowhere
      ? missing(`There is no domain ${zone} in DNS. Look whether it is spelt right, and registered.`)
      : diagnoseOne({ domain: zone, record, wanted, answers })
    return record.type === 'TXT' ? { ...finding, about: aboutOf(record) } : finding
  }
  return Object.fromEntries(wanted.map((record) => [record.key, findingOf(record)]))
}

/** Something in the zone was found, or may be there: a server that does not answer has not said no. */
const isThere = (zone: string, answers: Answers): boolean =>
  Object.entries(answers).some(([question, answer]) => !isMissing(answer) && isWithin(question.split(' ')[1] ?? '', zone))

function diagnoseOne(given: SiteCase): Finding {
  switch (given.record.type) {
    case 'CNAME':
      return diagnoseCname(given)
    case 'ALIAS':
      return diagnoseAlias(given)
    case 'TXT':
      return diagnoseText(given)
  }
}

function diagnoseCname(given: SiteCase): Finding {
  const { record, answers } = given
  const alias = answers[`CNAME ${record.name}`]
  if (!alias) return missing(`CNAME ${record.name} was not looked for yet.`)
  if (isTrouble(alias)) return unknown(record, alias)
  const place = answers[`ADDRESS ${record.name}`]
  // One CNAME may lead to another, which leads here.
  if (place && isFound(place) && place.aliases.includes(record.value)) return found
  if (isFound(alias)) return judgeAlias(given, { ...alias, target: alias.found[0] as string })
  const ours = valuesOf(answers, `ADDRESS ${record.value}`)
  const addresses = valuesOf(answers, `ADDRESS ${record.name}`)
  if (addresses.length > 0 && addresses.every((address) => ours.includes(address)))
    return wrong(
      `${record.name} leads here by an A or AAAA record (${shown(addresses[0] as string)}). Replace it with the CNAME: it says whose site it is, and holds when addresses change.`,
    )
  return missAlias(given)
}

/** A name that can have no CNAME leads here when it has our addresses, and no others. */
function diagnoseAlias(given: SiteCase): Finding {
  const { record, answers } = given
  const target = answers[`ADDRESS ${record.value}`]
  if (!target || !isFound(target))
    return {
      state: 'unknown',
      problem: `Nobody can say just now whether ${record.name} leads here, because ${record.value} has no address. That is for whoever runs this server to mend.`,
    }
  const place = answers[`ADDRESS ${record.name}`]
  if (!place) return missing(`ALIAS ${record.name} was not looked for yet.`)
  if (isTrouble(place)) return unknown(record, place)
  if (!isFound(place)) return missAddress(given, target.found)
  const foreign = place.found.filter((address) => !target.found.includes(address))
  if (foreign.length === 0) return found
  const [first] = foreign as [string]
  const old = mayBeOld(place)
  if (foreign.length < place.found.length)
    return wrong(
      `${record.name} leads here, but some visitors are sent to ${shown(first)}. Remove the ${kindOf(first)} record with that address.${old}`,
    )
  const [alias] = valuesOf(answers, `CNAME ${record.name}`)
  return wrong(
    `${record.name} leads to ${shown(alias ?? first)}, not here. Replace its ${alias ? 'CNAME' : `${kindOf(first)} record`} with an ALIAS to ${record.value}. If your provider proxies the record (the orange cloud at Cloudflare), switch that off: “DNS only”.${old}`,
  )
}

const kindOf = (address: string): string => (address.includes(':') ? 'AAAA' : 'A')

function missAddress(given: SiteCase, ours: string[]): Finding {
  const { domain, record, answers } = given
  if (valuesOf(answers, `ADDRESS ${record.name}.${domain}`).some((address) => ours.includes(address))) return doubledName(given)
  const [alias] = valuesOf(answers, `CNAME ${record.name}`)
  if (alias !== undefined) return judgeAlias(given, { target: alias, ttl: 0 })
  return missing(`ALIAS ${record.name} is not there yet. If your provider has no ALIAS, it may take a CNAME at @; else use a subdomain.`)
}

function diagnoseText(given: SiteCase): Finding {
  const { record, answers } = given
  const { name, value } = record
  const answer = answers[`TXT ${name}`]
  if (!answer) return missing(`TXT ${name} was not looked for yet.`)
  if (isTrouble(answer)) return unknown(record, answer)
  if (!isFound(answer)) return missText(given)
  if (answer.found.includes(value)) return found
  const old = mayBeOld(answer)
  const plain = (text: string) => text.replace(/["“”„\\\s]/g, '')
  if (answer.found.some((text) => plain(text) === value))
    return wrong(`TXT ${name} has quotation marks or spaces inside its value. Enter the value without them.${old}`)
  return wrong(`TXT ${name} says ${shown(answer.found[0] as string)}. Replace it with ${value}, or add a second one.${old}`)
}

function missText(given: SiteCase): Finding {
  const { domain, record, answers } = given
  const { name, value } = record
  const isAt = (place: string) => valuesOf(answers, `TXT ${place}`).some((text) => text.includes(value))
  if (isAt(`${name}.${domain}`)) return doubledName(given)
  if (isAt(domain))
    return wrong(`The value of TXT ${name} is at ${domain} itself. Change the name of that record to ${shortName(name, domain)}.`)
  if (isAt(name.replace(/^_/, ''))) return wrong(`The name of TXT ${name} lacks the underscore at its beginning.`)
  const [target] = valuesOf(answers, `CNAME ${name}`)
  if (target !== undefined) return wrong(`At ${name} there is a CNAME to ${shown(target)}. Replace it with the TXT record.`)
  return missing(`TXT ${name} is not there yet.`)
}
