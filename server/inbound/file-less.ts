import { packMail } from '../mail/inbound/packed-mail.ts'
import { parsedNothing } from '../mail/inbound/parsed-mail.ts'
import type { FiledInput } from './inbound-message.ts'
import { undecided } from './undecided.ts'

const problem = 'The message could not be filed as it is'

/** The same message with less and less of what strangers wrote in it: by its head, then without a word of theirs. */
export function lessAndLess({ message, parsed }: FiledInput): FiledInput[] {
  const { message_id, in_reply_to, references, from, subject, date, automatic } = parsed
  const nothing = { ...parsedNothing(problem), automatic }
  const head = { ...nothing, message_id, in_reply_to, references, from, subject, date }
  return [head, nothing].map((less) => ({ message, parsed: packMail(less), verdicts: undecided('permerror') }))
}
