import { parentPort } from 'node:worker_threads'
import type { LineAnswer } from '../../base/thread-line.ts'
import { threadMs } from '../../base/thread-time.ts'
import { type CompiledParts, checkTemplates, compileParts, type Preview, previewsOf } from './compile-post.ts'
import { openPost } from './open-post.ts'
import { type PageFixed, type PostPage, pageOf } from './page.ts'
import type { Recipient } from './part.ts'
import { mainFieldOf, type PostFrame, type PostSource } from './post-source.ts'
import { TemplateError, type TemplateField } from './template-error.ts'

/** What the thread is asked for, and what it answers. Nothing but plain data passes between the threads. */
export type CompilerTask =
  | { kind: 'check'; source: PostSource }
  | { kind: 'preview'; source: PostSource; frame: PostFrame; recipients: Recipient[] }
  | { kind: 'compile'; source: PostSource; frame: PostFrame; recipient: Recipient }
  | { kind: 'page'; source: PostSource; fixed: PageFixed }

export type CompilerResult = null | Preview[] | CompiledParts | PostPage

export interface RefusedPost {
  field: TemplateField
  line: number
  column: number
  problem: string
}

type CompilerAnswer = LineAnswer<CompilerResult, RefusedPost>

export function runCompilerThread(): void {
  const tell = (answer: CompilerAnswer) => parentPort?.postMessage(answer)
  parentPort?.on('message', (task: CompilerTask) => tell(answerTo(task)))
  tell({ kind: 'ready' })
}

function answerTo(task: CompilerTask): CompilerAnswer {
  try {
    return { kind: 'done', result: resultOf(task) }
  } catch (thrown) {
    const error = thrown instanceof RangeError ? asTemplateError(thrown, task.source) : thrown
    if (!(error instanceof TemplateError)) return { kind: 'failed', message: (error as Error).message, stack: (error as Error).stack }
    const { field, line, column, problem } = error
    return { kind: 'refused', refused: { field, line, column, problem } }
  }
}

function resultOf(task: CompilerTask): CompilerResult {
  if (task.kind === 'check') {
    checkTemplates(task.source)
    return null
  }
  if (task.kind === 'page') return pageOf(task.source, task.fixed)
  const { source, frame } = task
  if (task.kind === 'preview') return previewsOf(source, frame, task.recipients)
  const parts = compileParts(source, frame)
  const post = openPost(parts, source, frame)
  refuseTooLarge(source, post.fill(task.recipient).message.length)
  if (post.needs_logic) refuseTooSlow(source, () => post.fill(task.recipient))
  return parts
}

/** What a broadcast is paused for (`delivery/broadcast/fill-watch.ts`) is not begun. The first time is never the quickest. */
function refuseTooSlow(source: PostSource, fill: () => unknown): void {
  const times = Array.from({ length: 3 }, () => {
    const began = threadMs()
    fill()
    return threadMs() - began
  })
  const ms = Math.min(...times)
  if (ms <= maxFillMs) return
  const problem = `takes ${Math.round(ms)} ms to fill in for one reader, and at most ${maxFillMs} ms are allowed; is there a loop in it that can be shorter?`
  throw new TemplateError(mainFieldOf(source), { line: 1, column: 1 }, problem)
}

const maxFillMs = 25

/** Half of what most servers take. */
const maxOctets = 5_000_000

function refuseTooLarge(source: PostSource, octets: number): void {
  if (octets <= maxOctets) return
  const problem = `makes a mail of ${(octets / 1e6).toFixed(1)} MB, and at most ${maxOctets / 1e6} MB can be sent`
  throw new TemplateError(mainFieldOf(source), { line: 1, column: 1 }, problem)
}

/** The engine has run out of stack, or of room for one text: both are of the author's making. */
const asTemplateError = (error: RangeError, source: PostSource): TemplateError =>
  new TemplateError(
    mainFieldOf(source),
    { line: 1, column: 1 },
    /call stack/.test(error.message) ? 'is nested too deeply' : 'becomes too long a text',
  )
