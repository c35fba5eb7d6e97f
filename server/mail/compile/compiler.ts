import { Worker } from 'node:worker_threads'
import type { CompiledParts, Preview } from './compile-post.ts'
import type { CompilerAnswer, CompilerTask } from './compiler-thread.ts'
import type { Recipient } from './part.ts'
import { mainFieldOf, type PostFrame, type PostSource } from './post-source.ts'
import { TemplateError } from './template-error.ts'

/**
 * Puts posts together in a thread of its own, as nobody can say beforehand how long that takes: what Markdown, HTML and style sheets cost may
 * grow with the square of their length, and their authors are strangers. Whoever serves requests or sends mail waits for none of it. A post
 * that takes longer than a few seconds, or more memory than the thread may have, is refused, and the thread begins anew.
 *
 * The thread starts with the first post and ends after a while without one. Projects take turns.
 */
export interface Compiler {
  /** When a post is saved: that its merge tags work. All of these throw a TemplateError where the author's text does not work. */
  check(project: string, source: PostSource): Promise<void>
  /** What these readers would see. */
  preview(project: string, issue: { source: PostSource; frame: PostFrame }, recipients: Recipient[]): Promise<Preview[]>
  /** What is kept with a broadcast. Filled once for `recipient`, so that what cannot be sent is told before anything is. */
  compile(project: string, issue: { source: PostSource; frame: PostFrame }, recipient: Recipient): Promise<CompiledParts>
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
const maxWaitingOfProject = 50
const maxWaiting = 200
const idleMs = 5 * 60_000
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 }
const entry = new URL('../../../bin/compiler-thread.js', import.meta.url)

interface Waiting {
  task: CompilerTask
  resolve(result: unknown): void
  reject(error: Error): void
}

export function createCompiler(): Compiler {
  const line = new CompilerLine()
  return {
    check: async (project, source) => {
      await line.ask(project, { kind: 'check', source })
    },
    preview: (project, issue, recipients) => line.ask(project, { kind: 'preview', ...issue, recipients }) as Promise<Preview[]>,
    compile: (project, issue, recipient) => line.ask(project, { kind: 'compile', ...issue, recipient }) as Promise<CompiledParts>,
    stop: () => line.stop(),
  }
}

class CompilerLine {
  /** By project, in the order of their turns. */
  readonly #lanes = new Map<string, Waiting[]>()
  #waiting = 0
  #lastServed: string | null = null
  #thread: Worker | null = null
  #isReady = false
  #current: Waiting | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  ask(project: string, task: CompilerTask): Promise<unknown> {
    const lane = this.#lanes.get(project) ?? []
    if (this.#isStopped || lane.length >= maxWaitingOfProject || this.#waiting >= maxWaiting) return Promise.reject(new CompilerBusy())
    return new Promise((resolve, reject) => {
      lane.push({ task, resolve, reject })
      this.#lanes.set(project, lane)
      this.#waiting++
      this.#next()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    while (this.#waiting > 0) this.#take().reject(new CompilerBusy())
    this.#end(new CompilerBusy())
  }

  #next(): void {
    if (this.#current || this.#waiting === 0) return
    if (!this.#thread) this.#start()
    if (!this.#isReady) return
    this.#current = this.#take()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(this.#refusal('takes too long to put together')), limitMs)
    this.#thread?.ref()
    this.#thread?.postMessage(this.#current.task)
  }

  #take(): Waiting {
    const projects = [...this.#lanes.keys()]
    const project = (projects.find((one) => one !== this.#lastServed) ?? projects[0]) as string // something is waiting
    const lane = this.#lanes.get(project) as Waiting[] // from the line above
    const taken = lane.shift() as Waiting // a lane without any is not kept
    this.#lanes.delete(project)
    if (lane.length > 0) this.#lanes.set(project, lane)
    this.#lastServed = project
    this.#waiting--
    return taken
  }

  #start(): void {
    const thread = new Worker(entry, { name: 'compiler', resourceLimits })
    this.#thread = thread
    thread.on('message', (answer: CompilerAnswer) => {
      if (thread === this.#thread) this.#onAnswer(answer)
    })
    thread.on('error', (error: Error & { code?: string }) => {
      if (thread !== this.#thread) return
      const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      this.#end(isMemory && this.#current ? this.#refusal('takes too much memory to put together') : error)
    })
    thread.on('exit', () => {
      if (thread === this.#thread) this.#end(new Error('the thread that puts posts together has ended'))
    })
  }

  #onAnswer(answer: CompilerAnswer): void {
    if (answer.kind === 'ready') this.#isReady = true
    else this.#settle(answer)
    this.#rest()
    this.#next()
  }

  #settle(answer: Exclude<CompilerAnswer, { kind: 'ready' }>): void {
    const asked = this.#current
    this.#current = null
    if (answer.kind === 'done') asked?.resolve(answer.result)
    else if (answer.kind === 'refused') asked?.reject(new TemplateError(answer.field, answer, answer.problem))
    else asked?.reject(Object.assign(new Error(answer.message), { stack: answer.stack }))
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#thread?.unref()
    this.#timer = setTimeout(() => this.#end(new CompilerBusy()), idleMs)
    this.#timer.unref()
  }

  /** Ends the thread together with what it is at; the next one in the line gets a new one. */
  #end(reason: Error): void {
    clearTimeout(this.#timer)
    const [thread, asked, wasReady] = [this.#thread, this.#current, this.#isReady]
    this.#thread = null
    this.#current = null
    this.#isReady = false
    void thread?.terminate()
    asked?.reject(reason)
    // One that does not even start would be started again and again.
    if (!asked && !wasReady && this.#waiting > 0) this.#take().reject(reason)
    this.#next()
  }

  #refusal(problem: string): Error {
    const source = (this.#current as Waiting).task.source // asked only while there is one
    const advice = 'is there something in it that repeats itself thousands of times?'
    return new TemplateError(mainFieldOf(source), { line: 1, column: 1 }, `${problem}; ${advice}`)
  }
}
