import type { SmtpLimits } from './smtp/endpoint.ts'

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
