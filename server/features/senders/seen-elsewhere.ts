import type { Services } from '../../operations/context.ts'
import { hintsOfMemory, isRightFirstHand } from '../dns-records/index.ts'
import { type Diagnosis, diagnose, type Surveyed } from './diagnose.ts'
import { questionsOf, surveyRequired } from './survey.ts'

/** Receivers ask resolvers, and those remember: first mails may fail where all records are right. */
export async function hintsOfOthers(
  { dns, clock }: Pick<Services, 'dns' | 'clock'>,
  seen: Surveyed,
  { findings }: Diagnosis,
): Promise<string[]> {
  const { domain, wanted } = seen
  if (!isRightFirstHand(wanted, { answers: seen.answers, findings })) return []
  const answers = await surveyRequired(dns, domain, wanted)
  const elsewhere = diagnose({ ...seen, answers }).findings
  return hintsOfMemory({ wanted, answers, findings: elsewhere, questionsOf: (record) => questionsOf(domain, record) }, clock.now())
}
