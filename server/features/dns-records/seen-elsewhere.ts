import { type Found, isFound } from '../../dns/index.ts'
import type { Answers, Question } from './ask.ts'
import { type Findings, outcomeOf, type WantedRecord } from './dns-record.ts'

/** What a resolver has answered about records that are right in their zone. */
export interface SeenElsewhere<Wanted extends WantedRecord> {
  wanted: Wanted[]
  answers: Answers
  findings: Findings
  /** What is asked about a record. */
  questionsOf(record: Wanted): Question[]
}

/**
 * Others ask resolvers, and those remember. Where the zone's own servers have all records right, it is worth asking a resolver what others
 * see, so that nobody wonders why it does not work for everybody yet. It has no say in whether a domain is good.
 */
export const isRightFirstHand = (wanted: WantedRecord[], { answers, findings }: { answers: Answers; findings: Findings }): boolean =>
  Object.values(answers).some((answer) => isFound(answer) && answer.isFirstHand) && outcomeOf(wanted, findings) === 'found'

/** In whole sentences; none when others see the same. */
export function hintsOfMemory<Wanted extends WantedRecord>(seen: SeenElsewhere<Wanted>, now: Date): string[] {
  const { wanted, findings } = seen
  const behind = wanted.filter(({ key, isRequired }) => isRequired && !['found', 'unknown'].includes(findings[key]?.state ?? 'unknown'))
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

const rememberedOf = <Wanted extends WantedRecord>({ answers, questionsOf }: SeenElsewhere<Wanted>, record: Wanted): Found[] =>
  questionsOf(record).flatMap((question) => {
    const answer = answers[question]
    return answer && isFound(answer) ? [answer] : []
  })

const namesOf = (records: WantedRecord[]): string => records.map(({ type, name }) => `${type} ${name}`).join(' and ')

/** To the minute, and not too soon. */
const timeAfter = (now: Date, seconds: number): string =>
  `${new Date(now.getTime() + seconds * 1_000 + 59_999).toISOString().slice(0, 16).replace('T', ' ')} UTC`
