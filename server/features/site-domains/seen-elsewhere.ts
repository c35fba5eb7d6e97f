import type { Services } from '../../operations/context.ts'
import { type Answers, type Finding, type Findings, hintsOfMemory, isRightFirstHand, survey } from '../dns-records/index.ts'
import { diagnose } from './diagnose.ts'
import { interestIn, type SiteRecord } from './records.ts'

interface Surveyed {
  zone: string
  wanted: SiteRecord[]
  answers: Answers
  findings: Findings
  isProved: boolean
  /** Where the site's names point at. */
  target: string
}

/** Beside what was found of the records: what others may still see. Visitors ask resolvers, and those remember. */
export async function findingOfOthers(
  { dns, clock }: Pick<Services, 'dns' | 'clock'>,
  { zone, wanted, answers: own, findings, isProved, target }: Surveyed,
): Promise<{ others?: Finding }> {
  if (!isRightFirstHand(wanted, { answers: own, findings })) return {}
  const required = wanted.filter(({ isRequired }) => isRequired)
  const questionsOf = (record: SiteRecord) => interestIn(zone, record).questions
  const interests = required.map((record) => ({ questions: questionsOf(record), doubts: [] }))
  const answers = await survey(dns, interests, [`TXT ${zone}`, `ADDRESS ${target}`])
  const elsewhere = diagnose({ zone, wanted: required, answers, isProved })
  const hints = hintsOfMemory({ wanted: required, answers, findings: elsewhere, questionsOf }, clock.now())
  return hints.length > 0 ? { others: { state: 'found', problem: hints.join(' ') } } : {}
}
