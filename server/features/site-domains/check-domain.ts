import type { Transaction } from '../../database/database.ts'
import { zoneOf } from '../../mail/domain-name.ts'
import type { Services } from '../../operations/context.ts'
import { areCertificatesOurs } from '../certificates/index.ts'
import { type Findings, found, isSilent, nextCheckOfSilent, outcomeOf, problemsIn, survey, withMemory } from '../dns-records/index.ts'
import type { ListKey } from '../lists/index.ts'
import { diagnose } from './diagnose.ts'
import { holdHosts, leaveHosts, leaveWww } from './hold-hosts.ts'
import { type ConnectedDomain, connectedOf } from './reach-site-domain.ts'
import { interestIn, stillAbout } from './records.ts'
import { findingOfOthers } from './seen-elsewhere.ts'
import {
  afterCheck,
  hostsOf,
  isNaked,
  nextCheck,
  type Proof,
  type Seen,
  type SiteDomainRow,
  targetOf,
  tryAgain,
  wwwOf,
} from './site-domain.ts'
import { findDomain, holdZone, isHeldByOther, lockDomain, saveCheck, saveState } from './site-domain-queries.ts'
import { tellOwner } from './tell-owner.ts'

type Needs = Pick<Services, 'database' | 'config' | 'dns' | 'clock' | 'jobs'>

interface Checked {
  /** As it was when DNS was asked. */
  connected: ConnectedDomain
  findings: Findings
  /** Name servers did not answer, or not all. */
  isSilent: boolean
  /** Somebody asked for it, and so begins a new try. */
  isAsked: boolean
}

/** Looks at DNS, and then draws the consequences in one transaction. What was connected anew or given up meanwhile is left alone. */
export async function checkDomain(services: Needs, key: ListKey, { isAsked }: { isAsked: boolean }): Promise<void> {
  const { database, config, dns } = services
  const row = await findDomain(database, key)
  if (!row) return
  const connected = await connectedOf(services, database, row)
  const zone = zoneOf(row.domain)
  // What others see counts for a domain in use; for one that is being set up, what is in the zone at this moment.
  const lookUps = row.status === 'active' && !isAsked ? dns : dns.authoritative(zone)
  const interests = connected.wanted.map((record) => interestIn(zone, record))
  const target = targetOf(config, row.list_id)
  const answers = await survey(lookUps, interests, [`TXT ${zone}`, `ADDRESS ${target}`])
  const seen = { zone, wanted: connected.wanted, answers, isProved: row.proved_by !== null }
  const own = diagnose(seen)
  const findings = { ...own, ...(await findingOfOthers(services, { ...seen, findings: own, target })) }
  await database.transaction((tx) => settle(services, tx, { connected, findings, isSilent: isSilent(answers), isAsked }))
}

async function settle(services: Needs, tx: Transaction, checked: Checked): Promise<void> {
  const { row: asked } = checked.connected
  await holdZone(tx, asked.domain)
  const before = await lockDomain(tx, asked)
  if (!before || before.domain !== asked.domain || before.www_enabled !== asked.www_enabled) return
  const connected = await connectedOf(services, tx, before)
  const proved_by = before.proved_by ?? ((await mayProve(tx, before, checked)) ? proofIn(connected, checked) : null)
  const findings: Findings = { ...stillAbout(connected.wanted, checked.findings), ...(proved_by === null ? {} : { proof: found }) }
  const row = { ...before, ...(checked.isAsked ? tryAgain(before, tx.now) : {}), proved_by }
  const { owned, former } = await holdHosts(services, tx, { row, proof: connected.proof, findings, isAsked: checked.isAsked })
  const { certificate } = await connectedOf(services, tx, row)
  const seen: Seen = {
    records: outcomeOf(connected.wanted, findings),
    isReady: owned.includes(row.domain) && (!areCertificatesOurs(services.config) || certificate?.status === 'issued'),
    // Who has just asked gets another order first.
    failedOrders: certificate?.status === 'failed' && !checked.isAsked ? certificate.failures : 0,
  }
  const after: SiteDomainRow = {
    ...row,
    ...afterCheck(row, seen, tx.now),
    findings: withMemory(findings, connected.row.findings),
    challenge: certificate?.txt?.value ?? before.challenge,
  }
  await save(services, tx, { before, after, seen, isSilent: checked.isSilent })
  if (after.status === 'failed' && !owned.includes(wwwOf(row.domain))) await leaveWww(services, tx, after)
  const problems = [...problemsIn(connected.wanted, after.findings), ...(certificate?.problem ? [certificate.problem] : [])]
  await tellOwner(services, tx, { before, after, problems })
  for (const one of former)
    await tellOwner(services, tx, { before: one, after: { ...one, status: 'failed', trouble: 'moved' }, problems: [] })
}

/**
 * Who has given up takes a naked domain by itself only once it leads here, and never from somebody else: a TXT record that was forgotten in
 * the zone would do for it.
 */
const mayProve = async (tx: Transaction, { status, list_id, domain }: SiteDomainRow, { findings, isAsked }: Checked): Promise<boolean> =>
  isAsked || status !== 'failed' || (findings.site?.state === 'found' && !(await isHeldByOther(tx, { list_id, host: domain })))

/** What shows, from now on, that a naked domain is the list's: what DNS has said this time, or said to the authority for an order of the project. */
function proofIn({ row, proof, certificate }: ConnectedDomain, { connected, findings }: Checked): Proof | null {
  if (!isNaked(row.domain)) return null
  if (connected.proof === 'record' && findings.proof?.state === 'found') return 'record'
  return proof === 'certificate' && certificate?.is_proved ? 'certificate' : null
}

interface Change {
  before: SiteDomainRow
  after: SiteDomainRow
  seen: Seen
  isSilent: boolean
}

async function save(services: Needs, tx: Transaction, { before, after, seen, isSilent }: Change): Promise<void> {
  const usual = nextCheck(after, seen, tx.now)
  const isOver = before.status !== 'failed' && after.status === 'failed' && after.trouble === 'late'
  // Whoever owns the domain now need not wait for somebody who has given up.
  if (isOver) await leaveHosts(services, tx, { row: after, hosts: hostsOf(after) })
  await saveState(tx, after, after)
  await saveCheck(tx, after, {
    findings: after.findings,
    proved_by: isOver ? null : after.proved_by,
    // It was that of the order which has just been given up.
    challenge: isOver ? null : after.challenge,
    next_check_at: usual && isSilent ? nextCheckOfSilent(usual, { ...before, now: tx.now }) : usual,
  })
}
