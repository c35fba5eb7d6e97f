import { parentPort } from 'node:worker_threads'
import type { LineAnswer } from '../../base/thread-line.ts'
import { readAttachment, readAttachments } from './parse-mail.ts'
import type { ParsedAttachment } from './parsed-mail.ts'
import { sanitiseHtml } from './sanitise-html.ts'

export type ReaderTask =
  | { kind: 'attachment'; raw: Uint8Array; number: number }
  | { kind: 'attachments'; raw: Uint8Array }
  | ({ kind: 'html' } & ShownMail)

/** A mail as a page; `links` are those of its parts, by content id. */
export interface ShownMail {
  html: string
  links: Map<string, string>
  remoteImages: 'show' | 'block'
}

/** The bytes are a plain array once they have come over. */
export interface TakenOut {
  about: ParsedAttachment
  bytes: Uint8Array
}

export type ReaderResult = TakenOut | TakenOut[] | string | null

export function runReaderThread(): void {
  const tell = (answer: LineAnswer<ReaderResult>) => parentPort?.postMessage(answer)
  parentPort?.on('message', async (task: ReaderTask) => tell(await answerTo(task)))
  tell({ kind: 'ready' })
}

async function answerTo(task: ReaderTask): Promise<LineAnswer<ReaderResult>> {
  try {
    return { kind: 'done', result: await resultOf(task) }
  } catch (error) {
    return { kind: 'failed', message: (error as Error).message, stack: (error as Error).stack }
  }
}

async function resultOf(task: ReaderTask): Promise<ReaderResult> {
  if (task.kind === 'html')
    return sanitiseHtml(task.html, { linkOfContentId: (id) => task.links.get(id) ?? null, remoteImages: task.remoteImages })
  const raw = Buffer.from(task.raw.buffer, task.raw.byteOffset, task.raw.byteLength)
  return task.kind === 'attachment' ? readAttachment(raw, task.number) : readAttachments(raw)
}
