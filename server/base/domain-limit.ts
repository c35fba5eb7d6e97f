import { z } from 'zod'

/** How fast mail may go to a domain. */
export interface DomainLimit {
  /** `*` stands for each domain that is not named, on its own. */
  domain: string
  /** Messages a second. */
  rate: number
  /** How many may be under way at once; null for as many as the sender has. */
  concurrency: number | null
}

const part = /^(\*|[a-z0-9-]+(?:\.[a-z0-9-]+)+)\s*=\s*(\d+(?:\.\d+)?)\/s(?:\s*,\s*(\d+))?$/i

/** `gmail.com=20/s,5; outlook.com=10/s; *=50/s` */
export const domainLimits = z.string().transform((text, context): DomainLimit[] => {
  if (text === '') return []
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  const limits: DomainLimit[] = []
  for (const one of text.split(';').map((each) => each.trim())) {
    const [, domain = '', rate, concurrency] = part.exec(one) ?? []
    if (domain === '') return refuse(`has ${JSON.stringify(one)}, which is not domain=rate/s or domain=rate/s,concurrency`)
    const limit = { domain: domain.toLowerCase(), rate: Number(rate), concurrency: concurrency === undefined ? null : Number(concurrency) }
    if (limit.rate === 0 || limit.concurrency === 0)
      return refuse(`lets nothing through to ${domain}; rate and concurrency must be above 0`)
    if (limits.some((other) => other.domain === limit.domain)) return refuse(`names ${domain} twice`)
    limits.push(limit)
  }
  return limits
})
