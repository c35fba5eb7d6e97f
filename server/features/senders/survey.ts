import type { LookUps } from '../../dns/index.ts'
import { returnHostOf } from '../../mail/verp.ts'
import { type Answers, type Question, survey } from '../dns-records/index.ts'
import type { SenderRecord } from './records.ts'

/** What is looked for first. */
export function questionsOf(domain: string, { kind, name }: SenderRecord): Question[] {
  if (kind === 'dkim') return [`TXT ${name}`]
  if (kind === 'mx') return [`MX ${name}`]
  if (kind === 'return_path') return [`CNAME ${name}`, `MX ${name}`, `TXT ${name}`]
  return policyNames(domain).map((policy): Question => `TXT ${policy}`)
}

/** Where else a record that is not there may have landed. */
function doubtsOf(domain: string, { kind, name }: SenderRecord): Question[] {
  const doubled = `${name}.${domain}`
  if (kind === 'dkim')
    return [
      `TXT ${doubled}`,
      `TXT ${domain}`,
      `CNAME ${name}`,
      `TXT ${name.replace('._domainkey.', '.domainkey.')}`,
      `TXT ${name.slice(0, name.indexOf('.'))}.${domain}`,
      ...commonSelectors.map((selector): Question => `TXT ${selector}_domainkey.${domain}`),
    ]
  if (kind === 'return_path') return [`CNAME ${doubled}`, `ADDRESS ${returnHostOf(domain)}`]
  if (kind === 'dmarc') return [`TXT ${doubled}`, `TXT dmarc.${domain}`, `TXT ${domain}`]
  return []
}

/** What those who type a selector by hand, or from another service's page, call it. */
export const commonSelectors = ['', 'default.', 'dkim.', 'mail.', 'k1.', 'selector.', 'selector1.']

/**
 * RFC 9989 section 4.10: from the domain up to its last part; of a name with more than eight parts, the next is the one of seven. A policy
 * on the way counts for the domain.
 */
export function policyNames(domain: string): string[] {
  const labels = domain.split('.')
  const names = [domain]
  for (let count = Math.min(labels.length - 1, 7); count > 0; count--) names.push(labels.slice(-count).join('.'))
  return names.map((name) => `_dmarc.${name}`)
}

/** Also of a domain whose records are all there: what its owner should know. */
const alwaysAsked = (domain: string): Question => `TXT ${domain}`

/** Only whether they are there. */
export const surveyRequired = (lookUps: LookUps, domain: string, wanted: SenderRecord[]): Promise<Answers> =>
  survey(
    lookUps,
    wanted.filter(({ isRequired }) => isRequired).map((record) => ({ questions: questionsOf(domain, record), doubts: [] })),
  )

export const surveySender = (lookUps: LookUps, domain: string, wanted: SenderRecord[]): Promise<Answers> =>
  survey(
    lookUps,
    wanted.map((record) => ({ questions: questionsOf(domain, record), doubts: doubtsOf(domain, record) })),
    [alwaysAsked(domain)],
  )
