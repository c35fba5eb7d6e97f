import type { PackedMail } from '../mail/inbound/packed-mail.ts'
import type { Verdicts } from '../mail/inbound/parsed-mail.ts'

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
 * The raw message is not in the blob store yet, because only filing knows whose it is: it is put there before that transaction begins,
 * under `rawKey(project_id, message.id)` of blobs/blob-store.ts.
 */
export interface FiledInput {
  message: SpooledMessage
  parsed: PackedMail
  verdicts: Verdicts
}
