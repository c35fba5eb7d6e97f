import { ThreadLine } from '../../base/thread-line.ts'
import type { ParsedAttachment } from './parsed-mail.ts'
import type { ReaderResult, ReaderTask, ShownMail, TakenOut } from './reader-thread.ts'

/**
 * Takes kept mail apart once more, in a thread of its own: when somebody wants to see it, or its attachments go on to somebody else. The
 * message that costs seconds is a stranger's to write, and neither requests nor the filing of other mail wait for it in their own thread.
 */
export interface MailReader {
  /** By its number in `ParsedMail.attachments`; null where there is none. All of these throw an UnreadableMail where it takes too much. */
  attachment(project: string, raw: Buffer, number: number): Promise<Attachment | null>
  /** All of them, in their order. */
  attachments(project: string, raw: Buffer): Promise<Attachment[]>
  /** The HTML of a mail, safe to show: see `sanitiseHtml`. */
  html(project: string, mail: ShownMail): Promise<string>
  stop(): Promise<void>
}

export interface Attachment {
  about: ParsedAttachment
  bytes: Buffer
}

/** It takes more time or memory than a message may. */
export class UnreadableMail extends Error {}

/** Too much is waiting to be read: nothing is wrong with this one. */
export class ReaderBusy extends Error {
  constructor() {
    super('too many messages are being taken apart at this moment')
  }
}

/** 25 MB of attachments take a quarter of a second, and the machine may be busy. */
const defaultLimitMs = 5_000
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 }
const entry = new URL('../../../bin/reader-thread.js', import.meta.url)

export function createMailReader({ limitMs = defaultLimitMs }: { limitMs?: number } = {}): MailReader {
  const line = new ThreadLine<ReaderTask, ReaderResult>({
    name: 'reader',
    entry,
    limitMs,
    resourceLimits,
    busy: () => new ReaderBusy(),
    refusal: (_, tooMuch) => new UnreadableMail(`the message takes too much ${tooMuch} to be taken apart`),
    errorOf: (never) => never,
  })
  return {
    async attachment(project, raw, number) {
      const taken = (await line.ask(project, { kind: 'attachment', raw, number })) as TakenOut | null
      return taken && withBuffer(taken)
    },
    async attachments(project, raw) {
      return ((await line.ask(project, { kind: 'attachments', raw })) as TakenOut[]).map(withBuffer)
    },
    html: (project, mail) => line.ask(project, { kind: 'html', ...mail }) as Promise<string>,
    stop: () => line.stop(),
  }
}

const withBuffer = ({ about, bytes }: TakenOut): Attachment => ({ about, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) })
