import type { Resolver } from 'node:dns/promises'
import type { DNSResolver } from 'mailauth'
import { rememberBriefly } from '../base/recent.ts'

/** A name server that did not answer is not asked again for so long: whoever runs it pays for that, and no other sender. */
const silentForMs = 60_000
const maxRemembered = 10_000

type Answer = { records: Awaited<ReturnType<DNSResolver>> } | { error: Error }

/** A burst of mail from one domain asks the same few questions: an answer, also "there is none", is good for half a second. */
export function createLookUp(resolver: Resolver): DNSResolver {
  const silentUntil = new Map<string, number>()
  const ask = rememberBriefly(async (question): Promise<Answer> => {
    const [type = '', name = ''] = question.split(' ')
    const domain = domainInCharge(name)
    if ((silentUntil.get(domain) ?? 0) > performance.now()) return { error: noAnswer(name) }
    try {
      return { records: (await resolver.resolve(name, type)) as string[][] }
    } catch (error) {
      if (silentUntil.size >= maxRemembered) silentUntil.clear()
      if ((error as NodeJS.ErrnoException).code === 'ETIMEOUT') silentUntil.set(domain, performance.now() + silentForMs)
      return { error: error as Error }
    }
  })
  return async (name, type) => {
    const answer = await ask(`${type} ${name}`)
    if ('error' in answer) throw answer.error
    return answer.records
  }
}

export const noAnswer = (name: string): Error => Object.assign(new Error(`no answer in time about ${name}`), { code: 'ETIMEOUT' })

/**
 * Whose name servers answer for a name, near enough: two labels, or three under a short one such as `co.uk`. Where it is wrong, a silence
 * counts for too few names or for neighbours who share those name servers, and only for a minute.
 */
function domainInCharge(name: string): string {
  const labels = name
    .toLowerCase()
    .split('.')
    .filter((label) => label !== '' && !label.startsWith('_'))
  const isShort = labels.length > 2 && (labels.at(-1) as string).length === 2 && (labels.at(-2) as string).length <= 3
  return labels.slice(isShort ? -3 : -2).join('.')
}
