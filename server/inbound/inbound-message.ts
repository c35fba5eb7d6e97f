import type { PackedMail } from '../mail/inbound/packed-mail.ts'
import type { Verdicts } from '../mail/inbound/parsed-mail.ts'
import type { Backchannel } from '../mail/reports/read-backchannel.ts'

/** What came in over SMTP, as it was accepted. */
export interface SpooledMessage {
  id: string
  received_at: Date
  peer: Peer
  /** '' for the null sender. */
  envelope_from: string
  /** As in RCPT TO. */
  recipients: string[]
  /** CRLF line ends only, no bare CR or LF. */
  raw: Buffer
}

export interface Peer {
  address: string
  /** What it called itself in EHLO. */
  name: string
  is_tls: boolean
}

/**
 * What the loop over the spool hands to `file(batch: FiledInput[]): Promise<void>`. Filing writes a batch and removes its rows from the
 * spool (`inbound_spool`, by `message.id`) in one transaction, or throws: then each is tried alone. It may meet the same message twice.
 * The raw message is where the spool has it, because only filing knows whose it is: a small one stays there and becomes that project's, a
 * large one is put into the blob store before that transaction begins.
 */
export interface FiledInput {
  message: SpooledMessage
  parsed: PackedMail
  verdicts: Verdicts
  /** What it may say about mail of ours; null for most. */
  backchannel: Backchannel | null
}
