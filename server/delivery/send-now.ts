import { composeMessage, type OutgoingMail } from '../mail/compose.ts'
import type { Signers } from './signing-keys.ts'
import type { Outcome, Transport } from './transports/index.ts'

export type { Outcome } from './transports/index.ts'

/** Hands one message to the outgoing server and waits for its answer. No transaction may be open: this talks to the network. */
export async function sendNow({ transport, signers }: { transport: Transport; signers: Signers }, mail: OutgoingMail): Promise<Outcome> {
  let message: Buffer[]
  try {
    message = await signed(signers, mail.from.address, await composeMessage(mail))
  } catch (error) {
    // It will not go better next time.
    return {
      kind: 'bounced',
      smtp_code: 554,
      enhanced_code: '5.6.0',
      reason: 'The message could not be put together',
      detail: (error as Error).message,
    }
  }
  return transport.send({ from: mail.from.address, to: mail.to }, message, { message_id: mail.message_id, subject: mail.subject })
}

/** Where the domain has a key; else as it is, for the relay to sign. */
async function signed(signers: Signers, from: string, message: Buffer): Promise<Buffer[]> {
  const signer = await signers.signerFor(from.slice(from.lastIndexOf('@') + 1).toLowerCase())
  if (!signer) return [message]
  const end = message.indexOf('\r\n\r\n')
  return [await signer.sign(message.subarray(0, end + 2), message.subarray(end + 4)), message]
}
