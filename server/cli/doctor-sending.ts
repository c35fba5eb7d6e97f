import { systemClock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import { isForTrials } from '../base/trial-name.ts'
import type { Queryable } from '../database/database.ts'
import { signsMail } from '../delivery/first-signing-keys.ts'
import { signingRecords } from '../delivery/signing-keys.ts'
import { createDns } from '../dns/index.ts'
import type { Finding } from '../features/dns-records/index.ts'
import { strangersMay } from '../features/identity/index.ts'
import {
  dmarcRecordFor,
  lookAtMailDomain,
  type SendingTrouble,
  troubleInSettings,
  troubleWithAddresses,
} from '../features/senders/index.ts'
import type { Check } from './doctor-check.ts'

/** What real mail says of itself, as far as settings tell. */
export const checkMailSettings = (config: Config): Check[] =>
  checksOf(config, { name: 'mail settings', good: 'links and addresses can be reached by readers' }, troubleInSettings(config))

export const checkAddresses = async (config: Config, db: Queryable): Promise<Check[]> =>
  checksOf(
    config,
    { name: 'addresses', good: `lists and mailboxes are at ${config.MAIL_DOMAIN}, or at verified senders` },
    await troubleWithAddresses(db, config, systemClock.now()),
  )

/** Open doors may be wanted: then it is good to know of them. */
export function checkSignUps(config: Config): Check {
  const name = 'sign-ups'
  const open = strangersMay(config)
  if (open.may.length === 0) return { name, state: 'good', seen: 'strangers cannot send mail from here' }
  return {
    name,
    state: 'warning',
    seen: `strangers may ${open.may.join(', and ')}, and send mail in the name of ${config.MAIL_DOMAIN}`,
    next: open.next,
  }
}

function checksOf({ OUTBOUND }: Config, { name, good }: { name: string; good: string }, troubles: SendingTrouble[]): Check[] {
  if (OUTBOUND === 'capture') return [{ name, state: 'good', seen: 'not looked at: OUTBOUND=capture sends nothing' }]
  if (troubles.length === 0) return [{ name, state: 'good', seen: good }]
  return troubles.map(({ seen, next }) => ({ name, state: 'bad', seen, next }))
}

/** The records by which receivers know mail of MAIL_DOMAIN, while some leaves. */
export async function checkMailRecords(config: Config, db: Queryable): Promise<Check[]> {
  const { OUTBOUND, MAIL_DOMAIN: domain, DNS_SERVERS } = config
  if (OUTBOUND === 'capture' || isForTrials(domain)) return []
  const keys = signsMail(config) ? await signingRecords(db, domain) : []
  const dns = createDns({ servers: DNS_SERVERS })
  const { dkim, spf, dmarc } = await lookAtMailDomain(dns, { domain, keys }).finally(() => dns.close())
  const policy = dmarcRecordFor(domain)
  return [
    ...(signsMail(config) ? [checkKeys(domain, dkim)] : []),
    checkOf({ name: 'spf', good: `${domain} has one SPF record`, next: `Have one TXT record at ${domain}: ${spfHint}` }, spf),
    checkOf({ name: 'dmarc', good: `${domain} has a DMARC policy`, next: `Add TXT ${policy.name} with ${policy.value}` }, dmarc),
  ]
}

const spfHint =
  '“v=spf1 … -all”, with the addresses that mail leaves from (ip4:192.0.2.25), or what your relay’s documents say (include:…).'

function checkKeys(domain: string, findings: Finding[]): Check {
  const next = 'Run "posthaste dkim", and put the records that it shows into DNS.'
  if (findings.length === 0) return { name: 'dkim', state: 'warning', seen: `${domain} has no key yet: the next start makes one`, next }
  const amiss = findings.find(({ state }) => state !== 'found')
  return checkOf({ name: 'dkim', good: `the key that signs mail of ${domain} is in DNS`, next }, amiss ?? (findings[0] as Finding))
}

/** What nobody could say needs nothing done. */
function checkOf({ name, good, next }: { name: string; good: string; next: string }, { state, problem }: Finding): Check {
  if (state === 'found') return { name, state: 'good', seen: good }
  return { name, state: 'warning', seen: problem ?? state, ...(state !== 'unknown' && { next }) }
}
