import type { Transaction } from '../../database/database.ts'
import { activateKey, type DomainKey, restKeys, startWarmUp } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { listsOfSender, toListDetail } from '../lists/index.ts'
import { type Diagnosis, diagnose } from './diagnose.ts'
import { holdPosts, letPostsGo } from './hold-posts.ts'
import { wantedOf } from './reach-sender.ts'
import { returnTargetOf, type WantedRecord } from './records.ts'
import { afterCheck, afterTaken, type DomainState, isLost, nextCheck, outcomeOf, type SenderDomainRow, tryAgain } from './sender-domain.ts'
import {
  type DomainKeyParts,
  endFormerClaims,
  findDomain,
  holdDomain,
  isTaken,
  lockDomain,
  saveCheck,
  saveState,
} from './sender-queries.ts'
import { survey } from './survey.ts'
import { tellOwner } from './tell-owner.ts'

interface Checked {
  keys: DomainKey[]
  wanted: WantedRecord[]
  diagnosis: Diagnosis
  /** Somebody asked for it, and so begins a new try. */
  isAsked: boolean
}

type Needs = Pick<Services, 'database' | 'config' | 'dns'>

/** Looks at DNS, and then draws the consequences in one transaction. What was set up or given up meanwhile is left alone. */
export async function checkDomain(services: Needs, key: DomainKeyParts, { isAsked }: { isAsked: boolean }): Promise<void> {
  const { database, config, dns } = services
  const row = await findDomain(database, key)
  if (!row) return
  const { keys, wanted } = await wantedOf(services, database, key)
  // What others see counts for a domain in use; for one that is being set up, what is in the zone at this moment.
  const lookUps = row.status === 'verified' && !isAsked ? dns : dns.authoritative(key.domain)
  const answers = await survey(lookUps, key.domain, wanted)
  const hosts = { mx: config.MX_HOST, target: returnTargetOf(config) }
  const diagnosis = diagnose({ domain: key.domain, wanted, answers, hosts })
  await database.transaction((tx) => settle(services, tx, key, { keys, wanted, diagnosis, isAsked }))
}

async function settle(services: Needs, tx: Transaction, key: DomainKeyParts, checked: Checked): Promise<void> {
  await holdDomain(tx, key.domain)
  const before = await lockDomain(tx, key)
  if (!before) return
  const { wanted, diagnosis, keys } = checked
  const state = await stateAfter(tx, checked.isAsked ? tryAgain(before, tx.now) : before, { key, checked })
  const findings = withMemory(diagnosis, before)
  const after: SenderDomainRow = { ...before, ...state, findings }
  await saveState(tx, key, state)
  if (state.status === 'verified') await useKeys(tx, key, checked)
  if (before.status !== 'verified' && state.status === 'verified') await begin(tx, key)
  if (before.status === 'verified' && state.status === 'failed') await restKeys(tx, key)
  if (before.status === 'verified' && isLost(after)) await holdPosts(tx, key)
  await saveCheck(tx, key, { findings, next_check_at: nextCheck(state, { now: tx.now, hasNewKey: hasNewKey(keys, tx.now) }) })
  if (before.status !== state.status) await tellLists(tx, key)
  await tellOwner(services, tx, { before, after, wanted })
}

async function stateAfter(
  tx: Transaction,
  state: DomainState,
  { key, checked }: { key: DomainKeyParts; checked: Checked },
): Promise<DomainState> {
  const outcome = outcomeOf(checked.wanted, checked.diagnosis)
  if (outcome === 'found' && state.status !== 'verified' && (await isTaken(tx, key))) return afterTaken(state, tx.now)
  return afterCheck(state, outcome, tx.now)
}

/** What could not be asked is shown as it was when it could. */
function withMemory(diagnosis: Diagnosis, { findings: before }: SenderDomainRow): Diagnosis {
  const findings = Object.entries(diagnosis.findings).map(([key, finding]) => {
    const known = before.findings?.[key]
    return [key, finding.state === 'unknown' && known?.state === 'found' ? known : finding] as const
  })
  return { ...diagnosis, findings: Object.fromEntries(findings) }
}

/** A key signs from when its record is seen; the optional one no longer than it is. */
async function useKeys(tx: Transaction, key: DomainKeyParts, { keys, diagnosis }: Checked): Promise<void> {
  for (const one of keys) {
    const state = diagnosis.findings[one.id]?.state
    if (one.status === 'pending' && state === 'found') await activateKey(tx, key, one)
    if (one.status === 'active' && one.algorithm === 'ed25519-sha256' && state !== 'found' && state !== 'unknown')
      await restKeys(tx, key, [one.algorithm])
  }
}

async function begin(tx: Transaction, key: DomainKeyParts): Promise<void> {
  await endFormerClaims(tx, key)
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
