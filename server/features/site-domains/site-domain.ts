import { z } from 'zod'
import type { Config } from '../../base/config.ts'
import { formatId, type ListId, type ProjectId } from '../../base/ids.ts'
import { zoneOf } from '../../mail/domain-name.ts'
import { dnsRecord, line } from '../../operations/schemas.ts'
import {
  countMiss,
  type Findings,
  later,
  type Misses,
  minuteMs,
  nextCheckInUse,
  nextCheckOfOpen,
  noMisses,
  type Outcome,
  since,
} from '../dns-records/index.ts'

export const SiteDomainInfo = z
  .object({
    domain: z.string().nullable().meta({ description: 'In lower-case A-labels; null when none is connected' }),
    default_url: z.string().meta({ description: 'Where the site is in any case' }),
    live_url: z.string().nullable().meta({ description: 'Where it is on its own domain; null until that is active' }),
    status: z.enum(['not_configured', 'pending', 'active', 'failed']),
    records: z.array(dnsRecord).meta({ description: 'What belongs into the domain’s DNS zone, in the order in which to add it' }),
    next_step: z.string().meta({ description: 'What to do now, in plain words' }),
  })
  .meta({ id: 'SiteDomainInfo' })

export const NewSiteDomain = z.object({
  domain: line(253).meta({ description: 'A domain or subdomain of yours, in any script' }),
  www_enabled: z.boolean().optional().meta({ description: 'Also serve www, for a naked domain; a subdomain has none' }),
})

/**
 * A domain is `pending` until DNS leads here and a certificate is stored, and then `active`. It has `failed` when seven days have passed
 * without, when five orders for its certificate have come to nothing, or when another project has shown that the domain is theirs. An active one
 * whose DNS leads elsewhere in three checks over 24 hours is pending again; what name servers did not answer counts for nothing. A failed one is
 * looked at on and on, ever less often, unless it has moved, but takes no naked domain from another list; to connect it again, or to ask for
 * a check, begins a new try.
 */
export interface DomainState extends Misses {
  status: 'pending' | 'active' | 'failed'
  pending_since: Date
  trouble: 'late' | 'orders' | 'gone' | 'moved' | null
}

export interface SiteDomainRow extends DomainState {
  project_id: ProjectId
  list_id: ListId
  domain: string
  www_enabled: boolean
  proved_by: Proof | null
  challenge: string | null
  findings: Findings
  created_at: Date
  last_checked_at: Date | null
  next_check_at: Date | null
}

/** By what TXT record a naked domain shows whose it is: the one for its certificate will do, unless somebody else is at it. */
export type Proof = 'certificate' | 'record'

/** example.com, and not blog.example.com: it can have no CNAME. */
export const isNaked = (domain: string): boolean => zoneOf(domain) === domain

export const wwwOf = (domain: string): string => `www.${domain}`

export const hostsOf = ({ domain, www_enabled }: Pick<SiteDomainRow, 'domain' | 'www_enabled'>): string[] =>
  www_enabled ? [domain, wwwOf(domain)] : [domain]

/** What is unique to a site: a name that was left pointing at it can be taken by nobody else. */
const tokenOf = (list_id: ListId): string => formatId('lst', list_id).slice('lst_'.length)

/** Where names of a site point at. */
export const targetOf = ({ SITE_TARGET }: Pick<Config, 'SITE_TARGET'>, list_id: ListId): string => `${tokenOf(list_id)}.${SITE_TARGET}`

/** The record of its own by which a domain shows whose it is. */
export const proofFor = ({ domain, list_id }: Pick<SiteDomainRow, 'domain' | 'list_id'>) => ({
  name: `_posthaste-verify.${domain}`,
  value: `posthaste-site=${tokenOf(list_id)}`,
})

const pendingMs = 7 * 24 * 60 * minuteMs
const mostFailedOrders = 5

/** What a check saw. */
export interface Seen {
  /** Of all required records together. */
  records: Outcome
  /** The host is the list's to show, and there is a certificate, or a proxy has it. */
  isReady: boolean
  /** In a row, when nothing is being ordered; else none. */
  failedOrders: number
}

/** The state after a check. */
export function afterCheck(state: DomainState, { records, isReady, failedOrders }: Seen, now: Date): DomainState {
  if (state.status === 'active')
    return records === 'found' ? { ...state, ...noMisses } : records === 'unknown' ? state : afterMiss(state, now)
  if (records === 'found' && isReady) return { ...state, ...noMisses, status: 'active', trouble: null }
  if (state.status === 'failed') return state
  if (failedOrders >= mostFailedOrders) return { ...state, status: 'failed', trouble: 'orders' }
  return since(state.pending_since, now) >= pendingMs ? { ...state, status: 'failed', trouble: 'late' } : state
}

const afterMiss = (state: DomainState, now: Date): DomainState => {
  const { isGone, ...misses } = countMiss(state, now)
  return isGone ? { ...state, ...noMisses, status: 'pending', trouble: 'gone', pending_since: now } : { ...state, ...misses }
}

/** Somebody has mended something, or says so: the seven days begin anew. */
export const tryAgain = (state: DomainState, now: Date): DomainState =>
  state.status === 'failed' ? { ...state, ...noMisses, status: 'pending', pending_since: now, trouble: null } : state

/** Null when nobody looks by themselves any more. */
export function nextCheck(state: DomainState, { records }: Seen, now: Date): Date | null {
  if (state.status === 'active') return nextCheckInUse(state, now)
  if (state.trouble === 'moved') return null
  // The certificate is on its way, and somebody may be waiting for it.
  return state.status === 'pending' && records === 'found' ? later(now, minuteMs) : nextCheckOfOpen(state.pending_since, now)
}
