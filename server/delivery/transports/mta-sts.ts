import type { Resolver } from 'node:dns/promises'
import type { GuardedFetch } from '../../base/guarded-fetch/index.ts'

/** RFC 8461: a domain says by which hosts it takes mail, and that their certificates verify. */
export interface StsPolicy {
  mode: 'enforce' | 'testing' | 'none'
  mx: string[]
  max_age: number
}

const longestAge = 31_557_600
const longestPolicy = 65_536
const fetchMs = 10_000
const mostKept = 10_000

export interface StsSettings {
  resolver: Resolver
  /** A policy is fetched from whatever domain somebody writes to. */
  guardedFetch: GuardedFetch
  /** Where policies are served: 443 but in tests. */
  port: number
}

/**
 * The policies of domains, kept as long as they say. A policy that was seen holds on when the DNS or the web server no longer show
 * it: that is how it helps against somebody who can hide both.
 */
export class StsPolicies {
  readonly #settings: StsSettings
  readonly #kept = new Map<string, { id: string; policy: StsPolicy; endsAt: number }>()

  constructor(settings: StsSettings) {
    this.#settings = settings
  }

  async policyOf(domain: string): Promise<StsPolicy | null> {
    const kept = this.#kept.get(domain)
    const current = kept && kept.endsAt > performance.now() ? kept : null
    const id = await this.#idOf(domain)
    if (id === null || id === current?.id) return current?.policy ?? null
    // Section 5.1: what cannot be fetched, or read, is as if it were not there.
    const text = await fetchPolicy(domain, this.#settings).catch(() => '')
    const policy = parsePolicy(text)
    if (!policy) return current?.policy ?? null
    this.#keep(domain, { id, policy, endsAt: performance.now() + policy.max_age * 1000 })
    return policy
  }

  async #idOf(domain: string): Promise<string | null> {
    // No record, or no answer: both mean that there is nothing new.
    const records = await this.#settings.resolver.resolveTxt(`_mta-sts.${domain}`).catch(() => [])
    const ours = records.map((pieces) => pieces.join('')).filter((text) => /^v=STSv1\s*;/.test(text))
    return ours.length === 1 ? (/;\s*id=([a-zA-Z0-9]{1,32})\s*(?:;|$)/.exec(ours[0] as string)?.[1] ?? null) : null
  }

  #keep(domain: string, entry: { id: string; policy: StsPolicy; endsAt: number }): void {
    this.#kept.delete(domain)
    this.#kept.set(domain, entry)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest)
  }
}

/** Whether the policy lists this host; `*.example.com` stands for one label, not for more (section 4.1). */
export const isListed = ({ mx }: StsPolicy, host: string): boolean =>
  mx.some((pattern) => pattern === host || (pattern.startsWith('*.') && pattern.slice(1) === host.slice(host.indexOf('.'))))

export function parsePolicy(text: string): StsPolicy | null {
  const fields = text
    .split(/\r?\n/)
    .map((line) => /^\s*([a-zA-Z0-9_.-]+)\s*:\s*(.*?)\s*$/.exec(line))
    .flatMap((match) => (match ? [{ name: match[1] as string, value: match[2] as string }] : []))
  const first = (name: string) => fields.find((field) => field.name === name)?.value
  const mode = first('mode')
  const age = first('max_age') ?? ''
  const mx = fields.filter(({ name }) => name === 'mx').map(({ value }) => value.toLowerCase())
  if (first('version') !== 'STSv1' || !/^\d{1,10}$/.test(age)) return null
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none') return null
  if (mode !== 'none' && mx.length === 0) return null
  return { mode, mx, max_age: Math.min(Number(age), longestAge) }
}

/** Over HTTPS with a certificate that verifies, without following redirects (section 3.3). */
async function fetchPolicy(domain: string, { guardedFetch, port }: StsSettings): Promise<string> {
  const url = `https://mta-sts.${domain}:${port}/.well-known/mta-sts.txt`
  const { status, headers, body, truncated } = await guardedFetch(url, { timeoutMs: fetchMs, maxBytes: longestPolicy, isOnce: true })
  if (status !== 200 || !/^text\/plain\b/i.test(headers['content-type'] ?? '')) throw new Error(`no policy but ${status}`)
  if (truncated) throw new Error('the policy is too long')
  return body.toString()
}
