import type { z } from 'zod'
import type { dnsRecord } from '../../operations/schemas.ts'

/** A record that belongs into somebody's zone, in the words of whoever adds it. */
export interface WantedRecord {
  /** What its finding is kept by. */
  key: string
  type: 'TXT' | 'CNAME' | 'MX' | 'ALIAS'
  name: string
  value: string
  purpose: string
  /** Without it the domain cannot be used. */
  isRequired: boolean
}

/**
 * What was seen of a record. `missing` and `wrong` its owner can mend by adding or changing it; a `conflict` is something of theirs that
 * stands in its way; `unknown` says nothing about the record: name servers did not answer.
 */
export interface Finding {
  state: 'found' | 'missing' | 'wrong' | 'conflict' | 'unknown'
  /** What is wrong and what to do about it, in whole sentences; null where nothing is. */
  problem: string | null
  /** Name and value that were looked for, of a record that may be another one by now. */
  about?: string
}

/** By the record's key. */
export type Findings = Record<string, Finding>

/** What a check has found, of all required records together. */
export type Outcome = 'found' | 'missing' | 'conflict' | 'unknown'

export function outcomeOf(wanted: WantedRecord[], findings: Findings): Outcome {
  const states = wanted.filter(({ isRequired }) => isRequired).map(({ key }) => findings[key]?.state ?? 'unknown')
  if (states.includes('conflict')) return 'conflict'
  if (states.includes('missing') || states.includes('wrong')) return 'missing'
  return states.includes('unknown') ? 'unknown' : 'found'
}

/** As the API shows them. */
export const showRecords = (wanted: WantedRecord[], findings: Findings): z.output<typeof dnsRecord>[] =>
  wanted.map(({ key, type, name, value, purpose }) => ({ type, name, value, found: findings[key]?.state === 'found', purpose }))

/** Of those that are not as they should be, in the order in which they are added. */
export const problemsIn = (wanted: WantedRecord[], findings: Findings): string[] =>
  wanted
    .filter(({ key, isRequired }) => isRequired && findings[key]?.state !== 'found')
    .map(({ key, type, name }) => findings[key]?.problem ?? `${type} ${name} was not looked for yet.`)

/** The first that is to be mended, and how many more there are. */
export function firstOf(problems: string[]): string[] {
  const others = problems.length - 1
  if (others < 1) return problems
  return [problems[0] as string, `${others === 1 ? 'One more record is' : `${others} more records are`} not right yet, too.`]
}

/** What could not be asked is shown as it was when it could. */
export function withMemory(findings: Findings, before: Findings): Findings {
  const remembered = Object.entries(findings).map(([key, finding]) => {
    const known = before[key]
    return [key, finding.state === 'unknown' && known?.state === 'found' ? known : finding] as const
  })
  return Object.fromEntries(remembered)
}
