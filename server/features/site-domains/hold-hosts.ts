import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import {
  areCertificatesOurs,
  checkCertificate,
  forgetCertificate,
  orderCertificate,
  type WantedCertificate,
} from '../certificates/index.ts'
import type { Findings } from '../dns-records/index.ts'
import { type ListKey, listExists } from '../lists/index.ts'
import { isNaked, type Proof, type SiteDomainRow, targetOf, wwwOf } from './site-domain.ts'
import { isHeldByOther, leaveHost, lockDomain, saveFailedMoved, saveMoved, takeHost } from './site-domain-queries.ts'

interface Claim {
  row: SiteDomainRow
  proof: Proof
  /** What DNS has said just now. */
  findings: Findings
  /** The owner has mended something: orders are tried again at once. */
  isAsked: boolean
}

interface Held {
  /** The hosts that are the list's, as DNS says at this moment. */
  owned: string[]
  /** Those that were live at one of them until now, and whose lists are there to miss it. */
  former: SiteDomainRow[]
}

/** Takes the hosts that DNS shows to be the list's, from whoever has them, and orders their certificates. No other host ever gets one. */
export async function holdHosts(services: Pick<Services, 'config' | 'jobs'>, tx: Transaction, claim: Claim): Promise<Held> {
  const { config } = services
  const { row, isAsked } = claim
  const owned = ownedHosts(claim)
  const former: SiteDomainRow[] = []
  const moved: SiteDomainRow[] = []
  for (const host of owned) {
    const taken = await takeHost(tx, { ...row, host })
    const lost = taken.former && (await loseHost(tx, taken.former, host))
    if (lost) moved.push(lost)
    if (lost?.status === 'active' && (await listExists(tx, lost))) former.push(lost)
    if (taken.isNew) moved.push(...(await saveFailedMoved(tx, { ...row, host })))
  }
  if (areCertificatesOurs(config))
    for (const wanted of certificatesFor(targetOf(config, row.list_id), claim, owned)) {
      await orderCertificate(services, tx, wanted)
      if (isAsked) await checkCertificate(tx, wanted)
    }
  // Last: what this list has taken along with the domain keeps its certificate.
  for (const one of moved) await leaveWww(services, tx, one)
  return { owned, former }
}

/** A CNAME to the site's own target says whose a name is; of a naked domain a TXT record has said it. Who has failed needs no www without the rest. */
function ownedHosts({ row: { domain, www_enabled, proved_by, status }, findings }: Claim): string[] {
  const isOwned = isNaked(domain) ? proved_by !== null : findings.site?.state === 'found'
  const hasUse = status !== 'failed' || (isOwned && findings.site?.state === 'found')
  return [...(isOwned ? [domain] : []), ...(www_enabled && hasUse && findings.www?.state === 'found' ? [wwwOf(domain)] : [])]
}

function certificatesFor(target: string, { row, proof }: Claim, owned: string[]): WantedCertificate[] {
  const { project_id, domain, status } = row
  // The first one is had by the TXT record alone: that leads here says nothing about whose it is. Once that is known, it is renewed without.
  const isFirst = isNaked(domain) && !owned.includes(domain) && proof === 'certificate' && status === 'pending'
  return [
    ...(isFirst ? [{ project_id, host: domain, target, challenges: ['dns-01' as const] }] : []),
    ...owned.map((host) => ({ project_id, host, target, challenges: ['http-01' as const] })),
  ]
}

/** DNS says that the host is another's. Answers the domain as it was until now, if that was its host. */
async function loseHost(tx: Transaction, key: ListKey, host: string): Promise<SiteDomainRow | null> {
  const row = await lockDomain(tx, key)
  if (row?.domain !== host) return null
  await saveMoved(tx, key)
  return row
}

/** Nothing is shown there: somebody else may want it. */
export const leaveWww = async (services: Pick<Services, 'jobs'>, tx: Transaction, row: SiteDomainRow): Promise<void> => {
  if (row.www_enabled) await leaveHosts(services, tx, { row, hosts: [wwwOf(row.domain)] })
}

/** They are shown no more, and their certificates go, unless another list of the project has one. */
export async function leaveHosts(
  services: Pick<Services, 'jobs'>,
  tx: Transaction,
  { row, hosts }: { row: SiteDomainRow; hosts: string[] },
): Promise<void> {
  for (const host of hosts) {
    await leaveHost(tx, { ...row, host })
    if (!(await isHeldByOther(tx, { ...row, host }))) await forgetCertificate(services, tx, { project_id: row.project_id, host })
  }
}
