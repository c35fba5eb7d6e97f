import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { notifyOwner } from '../identity/index.ts'
import { type CertificateRow, warningsDue } from './certificate.ts'

/** Tells the owner when renewing has failed for so long that the certificate is about to end. Answers how often they have been told. */
export async function warnOfExpiry(services: Services, tx: Transaction, row: CertificateRow): Promise<number> {
  const { host, project_id, not_before, not_after, problem } = row
  if (not_before === null || not_after === null) return row.warnings
  const due = warningsDue({ not_before, not_after }, tx.now)
  if (due <= row.warnings) return row.warnings
  services.log.error({ host, not_after, reason: problem }, 'a certificate is about to end and could not be renewed')
  await notifyOwner(services, tx, {
    project_id,
    kind: 'certificate_ending',
    // Twice in the life of a certificate.
    pace: 'scarce',
    subject: `The certificate of ${host} is about to end`,
    parts: [
      `It is good until ${not_after.toISOString().slice(0, 10)}, and it could not be renewed so far. After that, browsers refuse to open ${host}.`,
      ...(problem === null ? [] : [problem]),
      'We go on trying. Look whether the DNS records of the domain are still as they were when you connected it.',
    ],
  })
  return due
}
