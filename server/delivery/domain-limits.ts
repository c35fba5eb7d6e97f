import type { SmtpLimits } from './smtp/endpoint.ts'
import type { Outcome } from './transports/index.ts'

type HostLimits = Pick<SmtpLimits, 'max_connections' | 'max_messages' | 'rate'>

/**
 * What one process may ask of the large providers when it delivers to them itself: by the ends of their MX names, so that the domains of
 * their customers count, too. Careful values, for an address that nobody knows yet: over their own limits, which most do not publish,
 * they put everything off for hours. `OUTBOUND=direct?connections=…&rate=…` goes before these.
 */
const hostLimits: [ends: string[], limits: HostLimits][] = [
  [['.google.com', '.googlemail.com'], { max_connections: 10, max_messages: 100, rate: 20 }],
  [['.outlook.com', '.hotmail.com', '.mx.microsoft'], { max_connections: 10, max_messages: 100, rate: 20 }],
  // Yahoo takes few messages over one connection before it turns away.
  [['.yahoodns.net'], { max_connections: 5, max_messages: 20, rate: 10 }],
  [['.icloud.com', '.apple.com'], { max_connections: 5, max_messages: 50, rate: 10 }],
  [['.gmx.net', '.web.de', '.kundenserver.de', '.1and1.com'], { max_connections: 5, max_messages: 50, rate: 10 }],
  [['.t-online.de'], { max_connections: 3, max_messages: 50, rate: 5 }],
  [['.orange.fr', '.wanadoo.fr', '.free.fr', '.laposte.net', '.sfr.fr'], { max_connections: 2, max_messages: 50, rate: 3 }],
  [['.comcast.net', '.charter.net', '.cox.net'], { max_connections: 3, max_messages: 50, rate: 5 }],
  [['.mail.ru', '.yandex.ru'], { max_connections: 5, max_messages: 50, rate: 10 }],
  [['.qq.com', '.netease.com'], { max_connections: 3, max_messages: 20, rate: 5 }],
]

/** Nothing for a host of which nothing is known. */
export function limitsOfHost(host: string): Partial<HostLimits> {
  const name = `.${host.toLowerCase().replace(/\.$/, '')}`
  return hostLimits.find(([ends]) => ends.some((end) => name.endsWith(end)))?.[1] ?? {}
}

/** Temporary answers that ask for less mail, whoever the recipient is. */
const slowDownSigns: { smtp_code?: number; enhanced?: RegExp; why: string }[] = [
  { smtp_code: 421, why: 'RFC 5321 section 3.8: the host wants to end this. Large providers say it to whoever is too fast' },
  {
    enhanced: /^4\.7\./,
    why: 'RFC 3463 section 3.8, policy: Gmail (4.7.0, 4.7.28), Yahoo (4.7.0 TSS04) and Outlook (4.7.500, 4.7.650) by rate',
  },
]

/** What an answer says of a domain's patience with us. `unheard`: nothing. */
export type Patience = 'fine' | 'slow_down' | 'unheard'

export function patienceOf(outcome: Outcome): Patience {
  if (outcome.kind === 'failed') return 'unheard'
  if (outcome.kind !== 'deferred') return 'fine'
  const { smtp_code: code, enhanced_code } = outcome
  const isAsked = slowDownSigns.some(({ smtp_code, enhanced }) => code === smtp_code || enhanced?.test(enhanced_code ?? ''))
  return isAsked ? 'slow_down' : 'unheard'
}

/** One such answer may be about one message; so many in a row are about us. */
export const refusalsInARow = 5
/** A domain that has taken so many since is trusted as before. */
export const takenInARow = 20

/** How long a domain is left alone, each time it refuses again after a rest. */
const rests: { seconds: number; why: string }[] = [
  { seconds: 30, why: 'counters of a minute are half over' },
  { seconds: 60, why: 'counters of a minute begin anew' },
  { seconds: 120, why: 'and once more, for those that count sliding minutes' },
  { seconds: 300, why: 'the shortest time that Yahoo asks for' },
  { seconds: 900, why: 'Outlook’s and Gmail’s counters are of a quarter of an hour and longer' },
  { seconds: 1_800, why: 'RFC 5321 section 4.5.4.1: nobody should ask more often than this; longer, and it would be late when it opens' },
]
export const restMsAfter = (times: number): number => (rests[Math.min(times, rests.length) - 1]?.seconds ?? 0) * 1000
export const longestRestMs = restMsAfter(rests.length)
