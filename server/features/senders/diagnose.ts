import { isFound, isTrouble } from '../../dns/index.ts'
import {
  type Answers,
  conflict,
  type Finding,
  type Findings,
  found,
  isNowhere,
  missing,
  plainHost,
  shown,
  unknown,
  valuesOf,
} from '../dns-records/index.ts'
import { diagnoseDkim, isOnTrial } from './diagnose-dkim.ts'
import { diagnoseDmarc } from './diagnose-dmarc.ts'
import { diagnoseReturnPath, type ReturnHosts } from './diagnose-return-path.ts'
import type { SenderCase, SenderRecord } from './records.ts'

export interface Diagnosis {
  findings: Findings
  /** What is none of ours and harms the domain all the same. */
  hints: string[]
}

export interface Surveyed {
  domain: string
  wanted: SenderRecord[]
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
  return { findings: Object.fromEntries(findings), hints: [...hintsOf(domain, answers), ...trialsIn(wanted, answers)] }
}

function diagnoseOne(given: SenderCase, hosts: ReturnHosts): Finding {
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

function diagnoseMx({ record, answers }: SenderCase, hosts: ReturnHosts): Finding {
  const answer = answers[`MX ${record.name}`]
  if (!answer || 'missing' in answer) return missing(`MX ${record.name} is not there yet.`)
  if (isTrouble(answer)) return unknown(record, answer)
  const exchanges = answer.found.map((one) => plainHost(one.slice(one.indexOf(' ') + 1)))
  const foreign = exchanges.find((host) => host !== hosts.mx)
  if (foreign === undefined) return found
  return conflict(`MX ${record.name} points at ${shown(foreign)}: mail for the domain goes there.`)
}

const trialsIn = (wanted: SenderRecord[], answers: Answers): string[] =>
  wanted
    .filter(({ kind, name }) => kind === 'dkim' && valuesOf(answers, `TXT ${name}`).some(isOnTrial))
    .map(({ name }) => `TXT ${name} has t=y, which tells receivers that signatures are only being tried out. Remove that part.`)

/** RFC 7208 section 4.5: more than one makes SPF fail for whatever else sends in the domain's name. */
function hintsOf(domain: string, answers: Answers): string[] {
  const policies = valuesOf(answers, `TXT ${domain}`).filter((text) => /^"?v=spf1(\s|$)/i.test(text))
  if (policies.length < 2) return []
  return [`${domain} has two SPF records, so receivers count neither for other mail from it. Put them together into one.`]
}
