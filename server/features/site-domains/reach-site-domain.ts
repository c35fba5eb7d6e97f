import { notFound } from '../../base/errors.ts'
import type { Queryable } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { areCertificatesOurs, type CertificateView, findCertificate, isCertificateOfOther } from '../certificates/index.ts'
import { findList, type ListKey, type ListRow } from '../lists/index.ts'
import { recordsFor, type SiteRecord, stillAbout } from './records.ts'
import type { Proof, SiteDomainRow } from './site-domain.ts'
import { findDomain, isHeldByOther } from './site-domain-queries.ts'

type Settings = Pick<Services, 'config'>

/** What there is to say about a list's domain. */
export interface Connection {
  list: ListRow
  /** Null when none is connected. */
  domain: ConnectedDomain | null
}

export interface ConnectedDomain {
  /** With what was found of the records that are wanted now. */
  row: SiteDomainRow
  wanted: SiteRecord[]
  proof: Proof
  /** Somebody else has the domain, or is at it, and nothing has shown yet whose it is. */
  isContested: boolean
  /** Null when none was ordered yet, or a proxy does TLS. */
  certificate: CertificateView | null
}

export async function reachSiteDomain(settings: Settings, db: Queryable, key: ListKey): Promise<Connection> {
  const list = await findList(db, key)
  if (!list) throw notFound('list')
  const row = await findDomain(db, key)
  return { list, domain: row && (await connectedOf(settings, db, row)) }
}

/** A domain with its certificate, and the records that follow from both. */
export async function connectedOf({ config }: Settings, db: Queryable, row: SiteDomainRow): Promise<ConnectedDomain> {
  const isOurs = areCertificatesOurs(config)
  const key = { project_id: row.project_id, host: row.domain }
  const certificate = isOurs ? await findCertificate(db, key) : null
  // An authority that asked for no proof leaves nothing to wait for.
  const isUnproved = certificate?.status === 'issued' && !certificate.is_proved
  const isContested = row.proved_by === null && (await isAtOther(db, row))
  const proof = row.proved_by ?? (isOurs && !isUnproved && !isContested ? 'certificate' : 'record')
  // The order may be another one since the last check, with another value.
  const challenge = certificate?.txt?.value ?? row.challenge
  const wanted = recordsFor(config, { row, proof, challenge })
  return { row: { ...row, findings: stillAbout(wanted, row.findings) }, proof, isContested, certificate, wanted }
}

/** A value that both were told shows nothing. */
const isAtOther = async (db: Queryable, { project_id, list_id, domain }: SiteDomainRow): Promise<boolean> =>
  (await isHeldByOther(db, { list_id, host: domain })) || isCertificateOfOther(db, { project_id, host: domain })
