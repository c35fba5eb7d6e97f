import { type BounceRule, statusReasons, textRules } from './bounce-rules.ts'
import type { FailureClass } from './report.ts'

export interface Verdict {
  class: FailureClass
  reason: string
}

/** Of a failure. What nobody can name counts as soft: an address is never given up for a sentence we could not read. */
export function classifyFailure(status: string | null, text: string): Verdict {
  const smtpCode = smtpCodeIn(text)
  const isTemporary = status ? status.startsWith('4') : smtpCode?.startsWith('4') === true
  const byText = textRules.find((rule) => rule.patterns.test(text)) ?? null
  const byStatus = status ? verdictOfStatus(status) : null
  if (isTemporary)
    return {
      class: byText?.class === 'policy' ? 'policy' : 'soft',
      reason: byText?.reason ?? byStatus?.reason ?? 'The receiving side could not take the message for days',
    }
  if (byStatus && !mayOverrule(byText, byStatus))
    return { class: byStatus.class, reason: byText?.class === byStatus.class ? byText.reason : byStatus.reason }
  if (byText) return { class: byText.class, reason: byText.reason }
  return byStatus ?? { class: 'soft', reason: 'The receiving server refused the message and did not say why' }
}

/**
 * Words may clear an address that a number condemns (a block list under 5.1.1), and decide where the number says nothing (5.0.0); they
 * never condemn one against the number: "user unknown" under 5.7.1 is a refusal of the sender often enough.
 */
function mayOverrule(byText: BounceRule | null, byStatus: Verdict & { isVague: boolean }): boolean {
  if (!byText) return false
  return byStatus.isVague || (byStatus.class === 'hard' && byText.class !== 'hard')
}

/** RFC 3463: the class by subject and detail; `isVague` when the number alone decides nothing. */
function verdictOfStatus(status: string): Verdict & { isVague: boolean } {
  const [, subject, detail] = status.split('.')
  const known = statusReasons[`${subject}.${detail}`] ?? statusReasons[`${subject}.*`]
  return known
    ? { ...known, isVague: known.isVague === true }
    : { class: 'soft', reason: 'The receiving server refused the message and did not say why', isVague: true }
}

/** The first RFC 3463 code in the words of a server, and the three digits before it or alone. */
export function statusIn(text: string): string | null {
  const match = /(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.]*\d)/.exec(text)
  return match ? `${match[1]}.${Number(match[2])}.${Number(match[3])}` : null
}

export const smtpCodeIn = (text: string): string | null => /(?:^|[\s:;(<>'"#[])([45][0-5]\d)(?=[\s\-:;#,]|$)/.exec(text)?.[1] ?? null
