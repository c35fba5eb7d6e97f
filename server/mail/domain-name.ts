import { getDomain, getPublicSuffix } from 'tldts'
import { parseAddress } from './address.ts'

/** Either the domain in lower-case A-labels, or what is wrong with it as the end of the sentence "the domain …". */
export type ParsedDomain = { ok: true; domain: string } | { ok: false; problem: string }

/** A domain that somebody can have: with a dot, in any script, no address, and not one that everybody shares, like `co.uk`. */
export function parseDomain(text: string): ParsedDomain {
  const written = text.trim().replace(/\.$/, '')
  if (/^[a-z]+:\/\//i.test(written) || written.includes('/'))
    return { ok: false, problem: 'is a web address; write the domain alone, like example.com' }
  if (written.includes('@')) return { ok: false, problem: 'has an @ in it; write what comes after it' }
  if (written.includes(':') || /^[\d.]+$/.test(written)) return { ok: false, problem: 'is an IP address; a domain name is needed' }
  const parsed = parseAddress(`a@${written}`)
  if (!parsed.ok) return { ok: false, problem: problemOfDomain(parsed.problem) }
  const { domain } = parsed.value
  if (domain === 'localhost') return { ok: false, problem: 'has no dot' }
  if (isPublicSuffix(domain)) return { ok: false, problem: 'is shared by many owners; a domain of your own below it is needed' }
  return { ok: true, domain }
}

/** `com`, `co.uk`, and what hosters give names below, like `github.io`. */
const isPublicSuffix = (domain: string): boolean => getPublicSuffix(domain, { allowPrivateDomains: true }) === domain

/** Whether a name is the domain or lies below it. Both in A-labels. */
export const isWithin = (name: string, domain: string): boolean => name === domain || name.endsWith(`.${domain}`)

/** An address says "after the @" where a domain alone has none. */
const problemOfDomain = (problem: string): string =>
  problem
    .replace(/^has a domain that cannot exist: it/, 'cannot exist: it')
    .replace(/^has nothing after the @$/, 'is empty')
    .replace(/^has a domain without a dot$/, 'has no dot')
    .replace(/^has a domain longer/, 'is longer')
    .replace(/^has a domain part that/, 'has a part that')
    .replace(/ of the domain longer/, ' longer')
    .replace(/^has a dot right after the @$/, 'begins with a dot')
    .replace(/ after the @$/, '')

/** The zone that a name is in, as far as names tell: `example.com` for `blog.example.com`. In A-labels. */
export const zoneOf = (domain: string): string => getDomain(domain, { allowPrivateDomains: true }) ?? domain
