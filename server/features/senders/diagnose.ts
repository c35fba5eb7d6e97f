import { isFound, isTrouble } from '../../dns/index.ts'
import { diagnoseDkim } from './diagnose-dkim.ts'
import { diagnoseDmarc } from './diagnose-dmarc.ts'
import { diagnoseReturnPath, type ReturnHosts } from './diagnose-return-path.ts'
import { type Case, conflict, type Finding, found, isNowhere, missing, shown, unknown, valuesOf } from './finding.ts'
import type { WantedRecord } from './records.ts'
import type { Answers } from './survey.ts'

export interface Diagnosis {
  /** By the record's key. */
  findings: Record<string, Finding>
  /** What is none of ours and harms the domain all the same. */
  hints: string[]
}

interface Surveyed {
  domain: string
  wanted: WantedRecord[]
  answers: Answers
  hosts: ReturnHosts
}

/** What the answers say of each record. No network, no clock: the same answers always say the same. */
export function diagnose({ domain, wanted, answers, hosts }: Surveyed): Diagnosis {
  const nowhere = isNowhere(answers[`TXT ${domain}`]) && !Object.values(answers).some(isFound)
  const findings = wanted.map((record): [string, Finding] => [
    record.key,
    nowhere
      ? missing(`There is no domain ${domain} in DNS. Look whether it is spelt right, and registered.`)
      : diagnoseOne({ domain, record, wanted, answers }, hosts),
  ])
  return { findings: Object.fromEntries(findings), hints: hintsOf(domain, answers) }
}

function diagnoseOne(given: Case, hosts: ReturnHosts): Finding {
  switch (given.record.kind) {
    case 'dkim':
      return diagnoseDkim(given)
    case 'return_path':
      return diagnoseReturnPath(given, hosts)
    case 'dmarc':
      return diagnoseDmarc(given)
    case 'mx':
      return diagnoseMx(given, hosts)
  }
}

function diagnoseMx({ record, answers }: Case, hosts: ReturnHosts): Finding {
  const answer = answers[`MX ${record.name}`]
  if (!answer || 'missing' in answer) return missing(`MX ${record.name} is not there yet.`)
  if (isTrouble(answer)) return unknown(record, answer)
  const exchanges = answer.found.map((one) =>
    one
      .slice(one.indexOf(' ') + 1)
      .toLowerCase()
      .replace(/\.$/, ''),
  )
  const foreign = exchanges.find((host) => host !== hosts.mx)
  if (foreign === undefined) return found
  return conflict(`MX ${record.name} points at ${shown(foreign)}: mail for the domain goes there.`)
}

/** RFC 7208 section 4.5: more than one makes SPF fail for whatever else sends in the domain's name. */
function hintsOf(domain: string, answers: Answers): string[] {
  const policies = valuesOf(answers, `TXT ${domain}`).filter((text) => /^"?v=spf1(\s|$)/i.test(text))
  if (policies.length < 2) return []
  return [`${domain} has two SPF records, so receivers count neither for other mail from it. Put them together into one.`]
}
