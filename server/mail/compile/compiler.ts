import { ThreadLine } from '../../base/thread-line.ts'
import type { CompiledParts, Preview } from './compile-post.ts'
import type { CompilerResult, CompilerTask, RefusedPost } from './compiler-thread.ts'
import type { PageFixed, PostPage } from './page.ts'
import type { Recipient } from './part.ts'
import { mainFieldOf, type PostFrame, type PostSource } from './post-source.ts'
import { TemplateError } from './template-error.ts'

/**
 * Puts posts together in a thread of its own, as nobody can say beforehand how long that takes: what Markdown, HTML and style sheets cost may
 * grow with the square of their length, and their authors are strangers. A post that takes longer than a few seconds, or more memory than
 * the thread may have, is refused.
 */
export interface Compiler {
  /** When a post is saved: that its merge tags work. All of these throw a TemplateError where the author's text does not work. */
  check(project: string, source: PostSource): Promise<void>
  /** What these readers would see. */
  preview(project: string, issue: { source: PostSource; frame: PostFrame }, recipients: Recipient[]): Promise<Preview[]>
  /** What is kept with a broadcast. Filled once for `recipient`, so that what cannot be sent is told before anything is. */
  compile(project: string, issue: { source: PostSource; frame: PostFrame }, recipient: Recipient): Promise<CompiledParts>
  /** What somebody of whom nothing is known sees of it on the web, made safe to show. */
  page(project: string, source: PostSource, fixed: PageFixed): Promise<PostPage>
  stop(): Promise<void>
}

/** Too much is waiting to be put together: nothing is wrong with this one. */
export class CompilerBusy extends Error {
  constructor() {
    super('too many posts are being put together at this moment')
  }
}

/** A newsletter takes some ten milliseconds, one of a million letters one or two seconds, and the machine may be busy. */
const limitMs = 5_000
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 }
const entry = new URL('../../../bin/compiler-thread.js', import.meta.url)

export function createCompiler(): Compiler {
  const line = new ThreadLine<CompilerTask, CompilerResult, RefusedPost>({
    name: 'compiler',
    entry,
    limitMs,
    resourceLimits,
    busy: () => new CompilerBusy(),
    refusal: ({ source }, tooMuch) => tooDear(source, tooMuch),
    errorOf: ({ field, line, column, problem }) => new TemplateError(field, { line, column }, problem),
  })
  return {
    check: async (project, source) => {
      await line.ask(project, { kind: 'check', source })
    },
    preview: (project, issue, recipients) => line.ask(project, { kind: 'preview', ...issue, recipients }) as Promise<Preview[]>,
    compile: (project, issue, recipient) => line.ask(project, { kind: 'compile', ...issue, recipient }) as Promise<CompiledParts>,
    page: (project, source, fixed) => line.ask(project, { kind: 'page', source, fixed }) as Promise<PostPage>,
    stop: () => line.stop(),
  }
}

function tooDear(source: PostSource, tooMuch: 'time' | 'memory'): TemplateError {
  const problem = tooMuch === 'time' ? 'takes too long to put together' : 'takes too much memory to put together'
  const advice = 'is there something in it that repeats itself thousands of times?'
  return new TemplateError(mainFieldOf(source), { line: 1, column: 1 }, `${problem}; ${advice}`)
}
