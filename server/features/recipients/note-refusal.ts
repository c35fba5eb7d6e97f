import type { ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import type { FailureClass } from '../../mail/reports/report.ts'
import { drawConsequences, findAddressee } from './give-up-address.ts'

interface Refusal {
  bounce_class: FailureClass
  /** For people. */
  reason: string
}

/** A single mail that was refused while somebody waited for the answer. True when the address gets no more mail from this project. */
export const noteRefusal = async (tx: Transaction, to: { project_id: ProjectId; email: string }, refusal: Refusal): Promise<boolean> =>
  drawConsequences(tx, await findAddressee(tx, to.project_id, to.email), {
    ...refusal,
    at: tx.now,
  })
