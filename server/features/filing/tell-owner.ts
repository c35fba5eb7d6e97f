import type { Transaction } from '../../database/database.ts'
import { countMessages } from '../../delivery/enqueue.ts'
import { parseAddress } from '../../mail/address.ts'
import type { Services } from '../../operations/context.ts'
import { sendNotice } from '../identity/index.ts'
import { findSuppression } from '../suppressions/index.ts'
import type { FiledMail, HomeMailbox, RefusedReply } from './filed-mail.ts'
import { isByPerson } from './inbound-mail.ts'

const kind = 'reply_refused'
const dayMs = 86_400_000
/** To one address: whoever has come by a way back could otherwise fill the owner's mailbox with these. */
const maxPerDay = 20

type Needs = Pick<Services, 'config'>

/** Owners hear of answers that were kept instead of passed on. A program is told nothing: it might answer (RFC 3834 section 2). */
export async function tellOfRefused(services: Needs, tx: Transaction, filed: FiledMail[]): Promise<void> {
  for (const { mail, mailbox, refused_reply } of filed) {
    if (refused_reply && isByPerson(mail)) await tellOwner(services, tx, { mailbox, ...refused_reply })
  }
}

/**
 * Says nothing of what was in it: it may not have been the owner's. Nor whom it was for: that stands in the mailbox, where it goes when
 * that person's traces are erased.
 */
export async function tellOwner(
  services: Needs,
  tx: Transaction,
  { mailbox, reason }: RefusedReply & { mailbox: HomeMailbox },
): Promise<void> {
  const owner = parseAddress(String(mailbox.config?.forward_to ?? ''))
  if (!owner.ok || (await findSuppression(tx, mailbox.project_id, owner.value.key))) return
  const since = new Date(tx.now.getTime() - dayMs)
  if ((await countMessages(tx, { kind, since, recipient_key: owner.value.key })) >= maxPerDay) return
  await sendNotice(services, tx, {
    kind,
    to: owner.value.address,
    subject: 'Your answer was not passed on',
    parts: [
      `An answer came in for somebody who has written to the mailbox ${mailbox.address}, and was not passed on. ${reason}.`,
      'It is kept in that mailbox, as it came, and shows whom it is for. Nobody else has seen it.',
    ],
  })
}
