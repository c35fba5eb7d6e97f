import type { Answer, Found } from '../../dns/index.ts'
import type { Answers } from './ask.ts'
import type { Finding, WantedRecord } from './dns-record.ts'

export { shown } from '../../dns/index.ts'

/** All that a diagnosis looks at. */
export interface Case<Wanted extends WantedRecord = WantedRecord> {
  /** The zone that its owner adds records to. */
  domain: string
  record: Wanted
  /** The other records of the domain: a value may have landed at the wrong one. */
  wanted: Wanted[]
  answers: Answers
}

export const found: Finding = { state: 'found', problem: null }
export const missing = (problem: string): Finding => ({ state: 'missing', problem })
export const wrong = (problem: string): Finding => ({ state: 'wrong', problem })
export const conflict = (problem: string): Finding => ({ state: 'conflict', problem })
export const unknown = ({ type, name }: Pick<WantedRecord, 'type' | 'name'>, { trouble }: { trouble: string }): Finding => ({
  state: 'unknown',
  problem: `Nobody can say just now whether ${type} ${name} is there: ${trouble}.`,
})

/** What a question was answered with; empty when nothing was, or it was not asked. */
export const valuesOf = (answers: Answers, question: string): string[] => {
  const answer = answers[question]
  return answer && 'found' in answer ? answer.found : []
}

/** Whoever has mended it a minute ago is told why it still looks broken. The zone's own server remembers nothing: what it says is there. */
export const mayBeOld = ({ ttl, isFirstHand }: Pick<Found, 'ttl' | 'isFirstHand'>): string =>
  ttl > 0 && !isFirstHand ? ` If you have changed it just now: the old value may still be remembered for up to ${durationOf(ttl)}.` : ''

export function durationOf(seconds: number): string {
  const [count, unit] =
    seconds < 120
      ? [seconds, 'second']
      : seconds < 7_200
        ? [seconds / 60, 'minute']
        : seconds < 172_800
          ? [seconds / 3_600, 'hour']
          : [seconds / 86_400, 'day']
  const whole = Math.ceil(count)
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`
}

/** What is entered at most providers: they add the domain by themselves. */
export const shortName = (name: string, domain: string): string => (name === domain ? '@' : name.slice(0, -domain.length - 1))

export const doubledName = ({ domain, record: { type, name } }: Pick<Case, 'domain' | 'record'>): Finding =>
  wrong(
    `The ${type} record is at ${name}.${domain}: the domain is in its name twice, because your DNS provider adds it by itself. Change the name to ${shortName(name, domain)} there.`,
  )

/** The domain itself is not known to DNS at all. */
export const isNowhere = (answer: Answer | undefined): boolean =>
  answer !== undefined && 'missing' in answer && answer.missing === 'nxdomain'
