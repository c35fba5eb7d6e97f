import { ApiError } from '../../base/errors.ts'
import { ReaderBusy, UnreadableMail } from '../../mail/inbound/mail-reader.ts'
import type { Context } from '../../operations/context.ts'
import { readRawMail } from '../raw-mail/index.ts'
import type { InboxRow } from './inbox-email.ts'

export async function readRaw(
  context: Pick<Context, 'database' | 'blobs' | 'caller' | 'log'>,
  { raw_key }: Pick<InboxRow, 'raw_key'>,
): Promise<Buffer> {
  if (raw_key === null)
    throw new ApiError('not_found', 'This e-mail was sent from here: only what was received is kept as it came, with its attachments.')
  const raw = await readRawMail(context, { project_id: context.caller.project_id, raw_key })
  if (raw) return raw
  // After a move that left the files behind, for one: whoever runs this has to hear of it.
  context.log.warn({ raw_key }, 'a raw message is not where it was put; "posthaste doctor" tells more')
  throw new ApiError(
    'not_found',
    'The original of this e-mail is gone, and its attachments with it: the server does not have the file any more.',
  )
}

/** What the reader answers; `orElse` for a message that takes more than a message may. */
export async function readInThread<Result>(work: Promise<Result>, orElse: () => Result): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (error instanceof UnreadableMail) return orElse()
    if (error instanceof ReaderBusy)
      throw new ApiError('service_unavailable', 'Too many e-mails are being opened just now. Try again in a few seconds.', {
        headers: { 'retry-after': '5' },
      })
    throw error
  }
}
