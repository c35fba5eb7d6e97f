import type { Transaction } from '../../database/database.ts'
import { activateKey, type DomainKey, domainKeys, restKey, restKeys, startWarmUp } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { isSilent, nextCheckOfSilent, outcomeOf, withMemory } from '../dns-records/index.ts'
import { listsOfSender, toListDetail } from '../lists/index.ts'
import { type Diagnosis, diagnose } from './diagnose.ts'
import { holdPosts, letPostsGo } from './hold-posts.ts'
import { wantedOf } from './reach-sender.ts'
import { returnTargetOf, type SenderRecord } from './records.ts'
import { hintsOfOthers } from './seen-elsewhere.ts'
import { afterCheck, afterTaken, type DomainState, isLost, nextCheck, type SenderDomainRow, tryAgain } from './sender-domain.ts'
import { type DomainKeyParts, findDomain, holdDomain, isTaken, lockDomain, saveCheck, saveState, takeAddresses } from './sender-queries.ts'
import { surveySender } from './survey.ts'
import { tellOwner } from './tell-owner.ts'

interface Checked {
  keys: DomainKey[]
  wanted: SenderRecord[]
  diagnosis: Diagnosis
  /** Name servers did not answer, or not all. */
  isSilent: boolean
  /** Somebody asked for it, and so begins a new try. */
  isAsked: boolean
}

type Needs = Pick<Services, 'database' | 'config' | 'dns' | 'clock'>

/** Looks at DNS, and then draws the consequences in one transaction. What was set up or given up meanwhile is left alone. */
export async function checkDomain(services: Needs, key: DomainKeyParts, { isAsked }: { isAsked: boolean }): Promise<void> {
  const { database, config, dns } = services
  const row = await findDomain(database, key)
  if (!row) return
  const { keys, wanted } = await wantedOf(services, database, key)
  // What others see counts for a domain in use; for one that is being set up, what is in the zone at this moment.
  const lookUps = row.status === 'verified' && !isAsked ? dns : dns.authoritative(key.domain)
  const answers = await surveySender(lookUps, key.domain, wanted)
  const hosts = { mx: config.MX_HOST, target: returnTargetOf(config) }
  const seen = { domain: key.domain, wanted, answers, hosts }
  const own = diagnose(seen)
  const diagnosis = { ...own, hints: [...own.hints, ...(await hintsOfOthers(services, seen, own))] }
  await database.transaction((tx) => settle(services, tx, key, { keys, wanted, diagnosis, isSilent: isSilent(answers), isAsked }))
}

async function settle(services: Needs, tx: Transaction, key: DomainKeyParts, checked: Checked): Promise<void> {
  await holdDomain(tx, key.domain)
  const before = await lockDomain(tx, key)
  const { wanted, diagnosis, keys } = checked
  if (!before || !(await haveStayed(tx, key, keys))) return
  const state = await stateAfter(tx, checked.isAsked ? tryAgain(before, tx.now) : before, { key, checked })
  const findings = { ...diagnosis, findings: withMemory(diagnosis.findings, before.findings.findings ?? {}) }
  const after: SenderDomainRow = { ...before, ...state, findings }
  await saveState(tx, key, state)
  if (state.status === 'verified') await useKeys(tx, key, checked)
  if (before.status !== 'verified' && state.status === 'verified') await begin(tx, key)
  if (before.status === 'verified' && state.status === 'failed') await restKeys(tx, key)
  if (isLost(after)) await holdPosts(tx, key)
  const usual = nextCheck(state, { now: tx.now, hasNewKey: hasNewKey(keys, tx.now) })
  const next_check_at = checked.isSilent ? nextCheckOfSilent(usual, { ...before, now: tx.now }) : usual
  await saveCheck(tx, key, { findings, next_check_at })
  if (before.status !== state.status) await tellLists(tx, key)
  await tellOwner(services, tx, { before, after, wanted })
}

/** What was seen of keys that have gone meanwhile says nothing of those that are there now. */
async function haveStayed(tx: Transaction, key: DomainKeyParts, keys: DomainKey[]): Promise<boolean> {
  const present = new Set((await domainKeys(tx, key)).map(({ id }) => id))
  return keys.every(({ id }) => present.has(id))
}

async function stateAfter(
  tx: Transaction,
  state: DomainState,
  { key, checked }: { key: DomainKeyParts; checked: Checked },
): Promise<DomainState> {
  const outcome = outcomeOf(checked.wanted, checked.diagnosis.findings)
  if (outcome === 'found' && state.status !== 'verified' && (await isTaken(tx, key))) return afterTaken(state, tx.now)
  return afterCheck(state, outcome, tx.now)
}

/** A key signs from when its record is seen; the optional one no longer than it is. */
async function useKeys(tx: Transaction, key: DomainKeyParts, { keys, diagnosis }: Checked): Promise<void> {
  for (const one of keys) {
    const state = diagnosis.findings[one.id]?.state
    if (one.status === 'pending' && state === 'found') await activateKey(tx, key, one)
    if (one.status === 'active' && one.algorithm === 'ed25519-sha256' && state !== 'found' && state !== 'unknown')
      await restKey(tx, key, one)
  }
}

async function begin(tx: Transaction, key: DomainKeyParts): Promise<void> {
  await takeAddresses(tx, key)
  await startWarmUp(tx, key)
  await letPostsGo(tx, key)
}

const threeDaysMs = 72 * 3_600_000
/** One that its owner may be adding just now. */
const hasNewKey = (keys: DomainKey[], now: Date): boolean =>
  keys.some(({ status, created_at }) => status === 'pending' && now.getTime() - created_at.getTime() < threeDaysMs)

export async function tellLists(tx: Transaction, { project_id, domain }: DomainKeyParts): Promise<void> {
  for (const list of await listsOfSender(tx, project_id, domain))
    await publish(tx, project_id, 'list.updated', { list_id: list.id, list: toListDetail(list, tx.now) })
}
