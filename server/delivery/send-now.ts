import { composeMessage, type OutgoingMail } from '../mail/compose.ts'
import type { Outcome, Transport } from './transports/index.ts'

export type { Outcome } from './transports/index.ts'

/** Hands one message to the outgoing server and waits for its answer. No transaction may be open: this talks to the network. */
export async function sendNow({ transport }: { transport: Transport }, mail: OutgoingMail): Promise<Outcome> {
  let message: Buffer
  try {
    message = await composeMessage(mail)
  } catch (error) {
    // It will not go better next time.
    return {
      kind: 'bounced',
      smtp_code: 554,
      enhanced_code: '5.6.0',
      reason: 'The message could not be put together.',
      detail: (error as Error).message,
    }
  }
  return transport.send({ from: mail.from.address, to: mail.to }, message, { message_id: mail.message_id, subject: mail.subject })
}
