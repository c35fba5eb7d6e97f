import { packMail } from '../mail/inbound/packed-mail.ts'
import { parsedNothing } from '../mail/inbound/parsed-mail.ts'
import type { FiledInput } from './inbound-message.ts'
import { undecided } from './undecided.ts'

const problem = 'The message could not be filed as it is'

/** The same message with less and less of what strangers wrote in it: by its head, then without a word of theirs. */
export function lessAndLess({ message, parsed, backchannel }: FiledInput): FiledInput[] {
  const { message_id, in_reply_to, references, from, subject, date, automatic } = parsed
  const nothing = { ...parsedNothing(problem), automatic }
  const head = { ...nothing, message_id, in_reply_to, references, from, subject, date }
  const verdicts = undecided('permerror')
  return [
    { message, parsed: packMail(head), verdicts, backchannel },
    { message, parsed: packMail(nothing), verdicts, backchannel: null },
  ]
}
