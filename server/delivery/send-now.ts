import { formatDeliveryToken } from '../base/delivery-token.ts'
import type { ProjectId } from '../base/ids.ts'
import type { Secrets } from '../base/secrets.ts'
import { composeMessage, type OutgoingMail } from '../mail/compose.ts'
import { formatVerp } from '../mail/verp.ts'
import { outcomeOfOwnError, UnfitMail } from './put-together.ts'
import { isFromOwnDomain, type Signers } from './signing-keys.ts'
import type { Outcome, Transport } from './transports/index.ts'

export type { Outcome } from './transports/index.ts'

interface Sending {
  transport: Transport
  signers: Signers
}

/**
 * Hands one message to the outgoing server and waits for its answer. What comes back goes to `returnPath`, which says by itself whom it is
 * about. No transaction may be open: this talks to the network.
 */
export async function sendNow(
  { transport, signers }: Sending,
  mail: OutgoingMail,
  { project_id, returnPath }: { project_id: ProjectId; returnPath: string },
): Promise<Outcome> {
  let message: Buffer[]
  try {
    message = await signed(signers, { project_id, from: mail.from.address, returnPath }, await composed(mail))
  } catch (error) {
    return outcomeOfOwnError(error)
  }
  return transport.send({ from: returnPath, to: mail.to }, message, { message_id: mail.message_id, subject: mail.subject })
}

interface ReturnHosts {
  secrets: Secrets
  mailDomain: string
  /** In place of it. */
  returnHost?: string | undefined
}

/** The return path of one mail, for `sendNow`. */
export const returnPathOf = (
  { secrets, mailDomain, returnHost = mailDomain }: ReturnHosts,
  about: Parameters<typeof formatDeliveryToken>[2],
): string => formatVerp(formatDeliveryToken(secrets, 'return_path', about), returnHost)

const composed = (mail: OutgoingMail): Promise<Buffer> =>
  composeMessage(mail).catch((error: unknown) => {
    throw new UnfitMail(error)
  })

interface Sender {
  project_id: ProjectId
  from: string
  returnPath: string
}

/** Where there is a key; else as it is, for the relay to sign. */
async function signed(signers: Signers, { project_id, from, returnPath }: Sender, message: Buffer): Promise<Buffer[]> {
  const domain = from.slice(from.lastIndexOf('@') + 1).toLowerCase()
  const signer = await signers.signerFor({ project_id: isFromOwnDomain(domain, returnPath) ? project_id : null, domain })
  if (!signer) return [message]
  const end = message.indexOf('\r\n\r\n')
  return [await signer.sign(message.subarray(0, end + 2), message.subarray(end + 4)), message]
}
