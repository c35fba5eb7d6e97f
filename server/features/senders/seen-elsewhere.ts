import { type Found, isFound } from '../../dns/index.ts'
import type { Services } from '../../operations/context.ts'
import { type Answers, outcomeOf } from '../dns-records/index.ts'
import { type Diagnosis, diagnose, type Surveyed } from './diagnose.ts'
import type { SenderRecord } from './records.ts'
import { questionsOf, surveyRequired } from './survey.ts'

/**
 * Receivers ask resolvers, and those remember. Where the zone's own servers have all records right, a resolver is asked once what others
 * see, so that nobody wonders why first mails fail. It has no say in whether the domain is verified.
 */
export async function hintsOfOthers(
  { dns, clock }: Pick<Services, 'dns' | 'clock'>,
  seen: Surveyed,
  { findings }: Diagnosis,
): Promise<string[]> {
  const isFirstHand = Object.values(seen.answers).some((answer) => isFound(answer) && answer.isFirstHand)
  if (!isFirstHand || outcomeOf(seen.wanted, findings) !== 'found') return []
  return hintsIn({ ...seen, answers: await surveyRequired(dns, seen.domain, seen.wanted) }, clock.now())
}

/** By what a resolver has answered. */
export function hintsIn(seen: Surveyed, now: Date): string[] {
  const { findings } = diagnose(seen)
  const behind = seen.wanted.filter(
    ({ key, isRequired }) => isRequired && !['found', 'unknown'].includes(findings[key]?.state ?? 'unknown'),
  )
  const old = behind.filter((record) => rememberedOf(seen, record).length > 0)
  const absent = behind.filter((record) => !old.includes(record))
  const seconds = Math.max(0, ...old.flatMap((record) => rememberedOf(seen, record).map(({ ttl }) => ttl)))
  return [
    ...(old.length > 0
      ? [`Not everybody sees it yet: an old value of ${namesOf(old)} may be remembered until ${timeAfter(now, seconds)}.`]
      : []),
    ...(absent.length > 0
      ? [`Not everybody sees it yet: that there was no ${namesOf(absent)} may be remembered for up to a few hours.`]
      : []),
  ]
}

const rememberedOf = ({ domain, answers }: { domain: string; answers: Answers }, record: SenderRecord): Found[] =>
  questionsOf(domain, record).flatMap((question) => {
    const answer = answers[question]
    return answer && isFound(answer) ? [answer] : []
  })

const namesOf = (records: SenderRecord[]): string => records.map(({ type, name }) => `${type} ${name}`).join(' and ')

/** To the minute, and not too soon. */
const timeAfter = (now: Date, seconds: number): string =>
  `${new Date(now.getTime() + seconds * 1_000 + 59_999).toISOString().slice(0, 16).replace('T', ' ')} UTC`
