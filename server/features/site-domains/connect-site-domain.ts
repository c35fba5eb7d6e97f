import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import { ApiError, invalid, notFound } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import type { Finding } from '../dns-records/index.ts'
import { findList, type ListKey, lockList, UnderListParams } from '../lists/index.ts'
import { holdHosts, leaveHosts } from './hold-hosts.ts'
import { lookForProof, readDomain, type WantedDomain } from './new-domain.ts'
import { type Connection, connectedOf, reachSiteDomain } from './reach-site-domain.ts'
import { showSiteDomain } from './show-site-domain.ts'
import { hostsOf, isNaked, NewSiteDomain, proofFor, SiteDomainInfo, type SiteDomainRow, tryAgain, wwwOf } from './site-domain.ts'
import {
  countConnected,
  countDomains,
  findDomain,
  findOtherList,
  holdZones,
  insertDomain,
  isInUse,
  lockDomain,
  removeDomain,
  saveChoice,
  saveState,
} from './site-domain-queries.ts'

export const connectSiteDomain = defineOperation({
  id: 'site_domains.connect',
  method: 'POST',
  path: '/lists/{listId}/site-domain',
  scope: 'write',
  summary: 'Show a list’s site at a domain of yours',
  description:
    'Answers the DNS records to add. A subdomain needs one CNAME; a naked domain needs an ALIAS (or a flattened CNAME) and a TXT record, and with `www_enabled` a CNAME for www, without which it is live all the same. The domain is active once DNS leads here and a certificate is there; until then, and in any case, the site is at its default URL. The same domain again changes nothing but `www_enabled`, and begins a new try if it had failed. Another domain takes the place of the one before at once. A domain that another project’s site is live at is 422, until a TXT record, which the error names, shows that it is yours: then it moves, and the former owner is told.',
  params: UnderListParams,
  body: NewSiteDomain,
  result: SiteDomainInfo,
  status: 201,
  errors: ['not_found'],

  async run(context, { params, body }) {
    const key = { project_id: context.caller.project_id, list_id: params.listId }
    await connect(context, key, body)
    return showSiteDomain(context, await untilTold(context, key))
  },
})

async function connect(context: Context, key: ListKey, body: z.output<typeof NewSiteDomain>): Promise<void> {
  const { database } = context
  const wanted = readDomain(context, body)
  if (!(await findList(database, key))) throw notFound('list')
  const isElsewhere = await isInUse(database, { project_id: key.project_id, host: wanted.domain })
  const proof = isElsewhere ? await lookForProof(context, { ...key, ...wanted }) : null
  const isProved = proof?.state === 'found'
  await database.transaction(async (tx) => {
    if (!(await lockList(tx, key))) throw notFound('list')
    const before = await findDomain(tx, key)
    await holdZones(tx, [wanted.domain, ...(before ? [before.domain] : [])])
    await refuseOthers(tx, key, { wanted, proof })
    const row = await lockDomain(tx, key)
    if (row?.domain === wanted.domain) await keepDomain(context, tx, { row, wanted, isProved })
    else await changeDomain(context, tx, { key, row, wanted, isProved })
    await beginOrder(context, tx, key)
  })
}

async function refuseOthers(
  tx: Transaction,
  key: ListKey,
  { wanted, proof }: { wanted: WantedDomain; proof: Finding | null },
): Promise<void> {
  const { domain } = wanted
  const other = await findOtherList(tx, key, hostsOf(wanted))
  if (other)
    throw invalid(
      other.host === domain ? 'domain' : 'www_enabled',
      `${other.host} is connected to the list “${other.name}”. Disconnect it there first`,
    )
  if (proof?.state === 'found' || !(await isInUse(tx, { project_id: key.project_id, host: domain }))) return
  throw invalid('domain', `is in use on this server. If it is yours, ${howToProve({ domain, list_id: key.list_id }, proof)}`)
}

function howToProve(row: Pick<SiteDomainRow, 'domain' | 'list_id'>, proof: Finding | null): string {
  // Something is there already, and what is to be done about it has been said.
  if (proof?.state === 'wrong') return `mend its DNS: ${proof.problem} Then connect it again`
  const { name, value } = proofFor(row)
  const adding = `add a TXT record ${name} with the value ${value} to its DNS, and connect it again`
  return proof?.state === 'unknown' ? `${adding}. ${proof.problem}` : adding
}

interface Proved {
  wanted: WantedDomain
  isProved: boolean
}

async function keepDomain(context: Context, tx: Transaction, { row, wanted, isProved }: Proved & { row: SiteDomainRow }): Promise<void> {
  const { www_enabled } = wanted
  const proved_by = row.proved_by ?? (isProved && isNaked(row.domain) ? 'record' : null)
  // It costs a certificate, like another domain.
  if (www_enabled && !row.www_enabled) await refuseTooMany(tx, row, true)
  if (row.www_enabled && !www_enabled) await leaveHosts(context, tx, { row, hosts: [wwwOf(row.domain)] })
  if (row.status === 'failed') await saveState(tx, row, tryAgain(row, tx.now))
  if (row.status === 'failed' || row.www_enabled !== www_enabled || row.proved_by !== proved_by)
    await saveChoice(tx, { ...row, www_enabled, proved_by })
}

async function changeDomain(
  context: Context,
  tx: Transaction,
  { key, row, wanted, isProved }: Proved & { key: ListKey; row: SiteDomainRow | null },
): Promise<void> {
  await refuseTooMany(tx, key, row !== null)
  if (row) {
    await leaveHosts(context, tx, { row, hosts: hostsOf(row) })
    await removeDomain(tx, key)
  }
  await insertDomain(tx, { ...key, ...wanted, proved_by: isProved && isNaked(wanted.domain) ? 'record' : null })
}

/** At most so many domains of one project are looked after. */
const mostDomains = 50
/** A naked domain costs an order with the certificate authority, which gives an installation a few hundred in three hours. */
const mostAnHour = 30
const hourMs = 3_600_000

async function refuseTooMany(tx: Transaction, { project_id }: ListKey, hasOne: boolean): Promise<void> {
  if (!hasOne && (await countDomains(tx, project_id)) >= mostDomains)
    throw invalid(
      'domain',
      `is one more than the ${mostDomains} that a project may have. Disconnect that of a list that needs its own no more`,
    )
  if ((await countConnected(tx, project_id, new Date(tx.now.getTime() - hourMs))) >= mostAnHour)
    throw new ApiError('rate_limited', `At most ${mostAnHour} domains are connected an hour. Try again later.`, {
      headers: { 'retry-after': '3600' },
    })
}

/** The TXT record of a naked domain has the value that an order for its certificate brings. */
async function beginOrder(context: Context, tx: Transaction, key: ListKey): Promise<void> {
  const row = (await findDomain(tx, key))! // put there above
  const { proof } = await connectedOf(context, tx, row)
  if (isNaked(row.domain) && row.status === 'pending' && row.proved_by === null)
    await holdHosts(context, tx, { row, proof, findings: {}, isAsked: false })
}

const patienceMs = 5_000
const lookEveryMs = 100

/** Whoever connects a naked domain wants to see all of its records: the authority tells one of them within a second or two. */
async function untilTold(context: Context, key: ListKey): Promise<Connection> {
  for (const began = performance.now(); ; await sleep(lookEveryMs)) {
    const connection = await reachSiteDomain(context, context.database, key)
    if (isTold(connection) || performance.now() - began > patienceMs) return connection
  }
}

function isTold({ domain }: Connection): boolean {
  if (domain?.proof !== 'certificate' || domain.row.status !== 'pending' || !isNaked(domain.row.domain)) return true
  return domain.wanted.some(({ key }) => key === 'proof') || domain.certificate === null || domain.certificate.problem !== null
}
