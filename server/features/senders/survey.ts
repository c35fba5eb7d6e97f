import { type Answer, isFound, type LookUps } from '../../dns/index.ts'
import { returnHostOf } from '../../mail/verp.ts'
import type { WantedRecord } from './records.ts'

/** What DNS said, by question: `TXT _dmarc.example.com`. MX records are `10 mx.example.com`. */
export type Answers = Record<string, Answer>

type QuestionType = 'TXT' | 'CNAME' | 'MX' | 'ADDRESS'
export type Question = `${QuestionType} ${string}`

/** What is looked for first. */
export function questionsOf(domain: string, { kind, name }: WantedRecord): Question[] {
  if (kind === 'dkim') return [`TXT ${name}`]
  if (kind === 'mx') return [`MX ${name}`]
  if (kind === 'return_path') return [`CNAME ${name}`, `MX ${name}`, `TXT ${name}`]
  return policyNames(domain).map((policy): Question => `TXT ${policy}`)
}

/** Where else a record that is not there may have landed: what people get wrong. */
export function doubtsOf(domain: string, { kind, name }: WantedRecord): Question[] {
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

/** Asks for all records at once, and for the usual mistakes only where one is not found. */
export async function survey(lookUps: LookUps, domain: string, wanted: WantedRecord[]): Promise<Answers> {
  const first = await askAll(lookUps, [...wanted.flatMap((record) => questionsOf(domain, record)), alwaysAsked(domain)])
  const doubtful = wanted.filter((record) => !questionsOf(domain, record).some((question) => isFound(first[question] as Answer)))
  const asked = new Set(Object.keys(first))
  const doubts = doubtful.flatMap((record) => doubtsOf(domain, record)).filter((question) => !asked.has(question))
  return { ...first, ...(await askAll(lookUps, doubts)) }
}

async function askAll(lookUps: LookUps, questions: Question[]): Promise<Answers> {
  const once = [...new Set(questions)]
  const answers = await Promise.all(once.map((question) => inTime(askOne(lookUps, question))))
  return Object.fromEntries(once.map((question, index) => [question, answers[index] as Answer]))
}

/** Somebody may be waiting for the whole: two rounds of questions, each to servers that may all hang. */
const answerMs = 10_000

async function inTime(asked: Promise<Answer>): Promise<Answer> {
  const late = Promise.withResolvers<Answer>()
  const timer = setTimeout(() => late.resolve({ trouble: 'its name servers did not answer in time' }), answerMs)
  return Promise.race([asked, late.promise]).finally(() => clearTimeout(timer))
}

async function askOne(lookUps: LookUps, question: Question): Promise<Answer> {
  const [type, name] = question.split(' ') as [QuestionType, string]
  if (type === 'TXT') return lookUps.txt(name)
  if (type === 'CNAME') return lookUps.cname(name)
  if (type === 'ADDRESS') return lookUps.addresses(name)
  const answer = await lookUps.mx(name)
  return isFound(answer) ? { ...answer, found: answer.found.map(({ preference, exchange }) => `${preference} ${exchange}`) } : answer
}
