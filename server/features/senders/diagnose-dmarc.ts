import { isTrouble } from '../../dns/index.ts'
import { conflict, doubledName, type Finding, found, missing, shortName, shown, unknown, valuesOf, wrong } from '../dns-records/index.ts'
import type { SenderCase, SenderRecord } from './records.ts'
import { policyNames } from './survey.ts'

/** RFC 9989: any policy that a walk from the domain upwards finds will do. What the domain itself has wrong is said all the same. */
export function diagnoseDmarc(given: SenderCase): Finding {
  const { domain, record, answers } = given
  const own = answers[`TXT ${record.name}`]
  if (!own) return missing(`TXT ${record.name} was not looked for yet.`)
  if (isTrouble(own)) return unknown(record, own)
  const policies = valuesOf(answers, `TXT ${record.name}`).filter(isPolicy)
  if (policies.length > 1)
    return conflict(
      `${record.name} has ${policies.length} DMARC records, and receivers then count none. Keep one: ${shown(policies[0] as string)}.`,
    )
  if (policies.length === 1) return judgePolicy(record, policies[0] as string)
  const above = findingsAbove(given)
  if (above.some(({ state }) => state === 'found')) return found
  // What cannot be asked may hold it.
  const dark = policyNames(domain)
    .map((name) => answers[`TXT ${name}`])
    .find((answer) => answer && isTrouble(answer))
  if (dark && isTrouble(dark)) return unknown(record, dark)
  const elsewhere = findElsewhere(given)
  return elsewhere.state === 'missing' && above[0]
    ? missing(`${elsewhere.problem} One above it does not count: ${above[0].problem}`)
    : elsewhere
}

const isPolicy = (text: string): boolean => /^\s*v\s*=\s*DMARC1\s*(;|$)/.test(text)
const tagIn = (text: string, name: string): string | null => new RegExp(`;\\s*${name}\\s*=\\s*([^;]*)`, 'i').exec(text)?.[1]?.trim() ?? null

/** Section 4.7: one without p= that names a place for reports counts as p=none. */
function judgePolicy({ name, value }: Pick<SenderRecord, 'name' | 'value'>, policy: string): Finding {
  const p = tagIn(policy, 'p')
  if (p === null && tagIn(policy, 'rua')?.toLowerCase().includes('mailto:')) return found
  if (p !== null && /^(none|quarantine|reject)$/i.test(p)) return found
  return wrong(
    p === null
      ? `TXT ${name} says ${shown(policy)}, and lacks p=. Write ${shown(value)}.`
      : `TXT ${name} says p=${shown(p)}; it can be none, quarantine or reject.`,
  )
}

/** Of what the names above have, the nearest first. Of several at one name receivers count none. */
function findingsAbove({ domain, record, answers }: SenderCase): Finding[] {
  const [, ...above] = policyNames(domain)
  return above.flatMap((name) => {
    const policies = valuesOf(answers, `TXT ${name}`).filter(isPolicy)
    return policies.length === 1 ? [judgePolicy({ name, value: record.value }, policies[0] as string)] : []
  })
}

function findElsewhere(given: SenderCase): Finding {
  const { domain, record, answers } = given
  const { name } = record
  const isAt = (place: string) => valuesOf(answers, `TXT ${place}`).some(isPolicy)
  if (isAt(`${name}.${domain}`)) return doubledName(given)
  if (isAt(`dmarc.${domain}`))
    return wrong(`The DMARC record is at dmarc.${domain}: its name lacks the underscore, ${shortName(name, domain)}.`)
  if (isAt(domain)) return wrong(`The DMARC record is at ${domain} itself. Change its name to ${shortName(name, domain)}.`)
  const quoted = valuesOf(answers, `TXT ${name}`).find((text) => /["“”„\\]/.test(text) && /DMARC1/i.test(text))
  if (quoted !== undefined)
    return wrong(`TXT ${name} has quotation marks inside its value: ${shown(quoted)}. Enter the value without them.`)
  const [other] = valuesOf(answers, `TXT ${name}`)
  if (other !== undefined) return wrong(`TXT ${name} says ${shown(other)}, which is no DMARC policy. It has to begin with v=DMARC1;`)
  return missing(`TXT ${name} is not there yet.`)
}
