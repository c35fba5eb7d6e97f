import type { PackedMail } from '../../mail/inbound/packed-mail.ts'
import type { Verdicts } from '../../mail/inbound/parsed-mail.ts'
import type { Backchannel } from '../../mail/reports/read-backchannel.ts'

/** A message that was accepted over SMTP, parsed and judged, as the loop over the spool hands it over. */
export interface InboundMail {
  message: {
    id: string
    received_at: Date
    /** '' for the null sender. */
    envelope_from: string
    /** As in RCPT TO. */
    recipients: string[]
    raw: Buffer
  }
  parsed: PackedMail
  verdicts: Verdicts
  /** Null where it can say nothing about mail of ours. */
  backchannel: Backchannel | null
}

/** Longer ones are of nobody that we know, and would not fit into an index. */
const maxIdLetters = 500
/** The first names the conversation, the last ones what is answered; what stands between may be as long as its writer likes. */
const maxReferences = 50
const maxSubjectLetters = 998

/** The same with names that are bounded: they are written by strangers, and looked up. */
export function bounded({ parsed, ...rest }: InboundMail): InboundMail {
  const { subject, message_id, in_reply_to, references } = parsed
  const ids = references.filter((id) => id.length <= maxIdLetters)
  return {
    ...rest,
    parsed: {
      ...parsed,
      subject: subject?.slice(0, maxSubjectLetters).toWellFormed() ?? null,
      message_id: knowable(message_id),
      in_reply_to: knowable(in_reply_to),
      references: ids.length <= maxReferences ? ids : [...ids.slice(0, 1), ...ids.slice(1 - maxReferences)],
    },
  }
}

const knowable = (id: string | null): string | null => (id !== null && id.length <= maxIdLetters ? id : null)

/** Bounces, auto-replies and lists: nobody answers them, and their words are no person's. RFC 3834, and the null sender of RFC 5321. */
export const isByPerson = ({ message, parsed }: InboundMail): boolean => parsed.automatic === 'none' && message.envelope_from !== ''

export const isBounce = ({ message, parsed }: InboundMail): boolean => parsed.automatic === 'bounce' || message.envelope_from === ''

/** Nobody reads what is sent there, whatever the header of a mail from there says: "orders-noreply@", "no_reply+7@". */
const unattended =
  /(?:^|[-_.+])(?:no[-_.]?(?:reply|response|responder)|do[-_.]?not[-_.]?(?:reply|respond)|(?:bitte[-_.]?)?nicht[-_.]?antworten|ne[-_.]?pas[-_.]?repondre|n[aã]o[-_.]?responda)(?=[-_.+=\d@])/iu

/** Somebody to be known by their address: a person wrote it, from where an answer would be read. */
export const isByCorrespondent = (mail: InboundMail): boolean => isByPerson(mail) && !unattended.test(writerOf(mail))

/** Who wrote it, as the mail itself says. */
export const writerOf = ({ message, parsed }: InboundMail): string => parsed.from?.address || message.envelope_from
