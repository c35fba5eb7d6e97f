import { wake } from '../../base/wake.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { type CertificateView, earliestTry, viewOf } from './certificate.ts'
import {
  type CertificateKey,
  deleteCertificate,
  deleteToldOrder,
  findRow,
  setDue,
  upsertCertificate,
  type WantedCertificate,
} from './certificate-queries.ts'
import { leaveOrders } from './give-up.ts'

/**
 * From now on the host has a certificate, as soon as it can be had, and it is renewed for as long as it is not forgotten. The caller has
 * made sure that the project may have the host: from another project it takes what is there, but no order whose TXT value was told there.
 * Asked again, nothing happens but that what is different counts from the next step on.
 */
export async function orderCertificate(services: Pick<Services, 'jobs'>, tx: Transaction, wanted: WantedCertificate): Promise<void> {
  const key = { ...wanted, host: wanted.host.toLowerCase() }
  await leaveOrders(services, tx, await deleteToldOrder(tx, key))
  await upsertCertificate(tx, key)
  tx.afterCommit(() => wake('certificates'))
}

/** Null when none was ordered. */
export async function findCertificate(db: Queryable, key: CertificateKey): Promise<CertificateView | null> {
  const row = await findRow(db, { ...key, host: key.host.toLowerCase() })
  return row && viewOf(row)
}

/** The owner has changed something and wants to know: the next step is due now, as far as the authority's limits let it. */
export async function checkCertificate(tx: Transaction, key: CertificateKey): Promise<void> {
  const row = await findRow(tx, { ...key, host: key.host.toLowerCase() })
  // One that is good is left alone until its time comes.
  if (!row || (row.step === 'idle' && row.chain !== null && row.failures === 0)) return
  await setDue(tx, { host: row.host, due_at: earliestTry(row, tx.now) })
  tx.afterCommit(() => wake('certificates'))
}

/** It is not served any more within half a minute, and not renewed. What was proved for it is given up at the authority. */
export async function forgetCertificate(services: Pick<Services, 'jobs'>, tx: Transaction, key: CertificateKey): Promise<void> {
  const host = key.host.toLowerCase()
  await leaveOrders(services, tx, await deleteCertificate(tx, { ...key, host }))
  tx.afterCommit(() => wake('certificates', host))
}
