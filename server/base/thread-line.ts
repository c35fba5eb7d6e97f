import { type ResourceLimits, Worker } from 'node:worker_threads'

/** What the thread tells: nothing but plain data passes between the threads. It begins with `ready`. */
export type LineAnswer<Result, Refused = never> =
  | { kind: 'ready' }
  | { kind: 'done'; result: Result }
  | { kind: 'refused'; refused: Refused }
  | { kind: 'failed'; message: string; stack: string | undefined }

interface LineOptions<Task, Refused> {
  name: string
  /** What the thread runs. */
  entry: URL
  /** For one task. */
  limitMs: number
  resourceLimits: ResourceLimits
  /** Too much is waiting: nothing is wrong with the task. */
  busy(): Error
  /** The task took more of this than it may. */
  refusal(task: Task, tooMuch: 'time' | 'memory'): Error
  /** The thread itself said no. */
  errorOf(refused: Refused): Error
}

interface Waiting<Task, Result> {
  task: Task
  resolve(result: Result): void
  reject(error: Error): void
}

const maxWaitingOfProject = 50
const maxWaiting = 200
const idleMs = 5 * 60_000

/**
 * A thread for work whose cost nobody can say beforehand, because strangers wrote what it works on: whoever serves requests waits for none
 * of it. One task at a time; what takes longer than the limit, or more memory than the thread may have, is refused, and the thread begins
 * anew. It starts with the first task and ends after a while without one. Projects take turns.
 */
export class ThreadLine<Task, Result, Refused = never> {
  readonly #options: LineOptions<Task, Refused>
  /** By project, in the order of their turns. */
  readonly #lanes = new Map<string, Waiting<Task, Result>[]>()
  #waiting = 0
  #lastServed: string | null = null
  #thread: Worker | null = null
  #isReady = false
  #current: Waiting<Task, Result> | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: LineOptions<Task, Refused>) {
    this.#options = options
  }

  ask(project: string, task: Task): Promise<Result> {
    const lane = this.#lanes.get(project) ?? []
    if (this.#isStopped || lane.length >= maxWaitingOfProject || this.#waiting >= maxWaiting) return Promise.reject(this.#options.busy())
    return new Promise((resolve, reject) => {
      lane.push({ task, resolve, reject })
      this.#lanes.set(project, lane)
      this.#waiting++
      this.#next()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    while (this.#waiting > 0) this.#take().reject(this.#options.busy())
    this.#end(this.#options.busy())
  }

  #next(): void {
    if (this.#current || this.#waiting === 0) return
    if (!this.#thread) this.#start()
    if (!this.#isReady) return
    this.#current = this.#take()
    const { task } = this.#current
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(this.#options.refusal(task, 'time')), this.#options.limitMs)
    this.#thread?.ref()
    this.#thread?.postMessage(task)
  }

  #take(): Waiting<Task, Result> {
    const projects = [...this.#lanes.keys()]
    const project = (projects.find((one) => one !== this.#lastServed) ?? projects[0]) as string // something is waiting
    const lane = this.#lanes.get(project) as Waiting<Task, Result>[] // from the line above
    const taken = lane.shift() as Waiting<Task, Result> // a lane without any is not kept
    this.#lanes.delete(project)
    if (lane.length > 0) this.#lanes.set(project, lane)
    this.#lastServed = project
    this.#waiting--
    return taken
  }

  #start(): void {
    const { name, entry, resourceLimits, refusal } = this.#options
    const thread = new Worker(entry, { name, resourceLimits })
    this.#thread = thread
    thread.on('message', (answer: LineAnswer<Result, Refused>) => {
      if (thread === this.#thread) this.#onAnswer(answer)
    })
    thread.on('error', (error: Error & { code?: string }) => {
      if (thread !== this.#thread) return
      const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      this.#end(isMemory && this.#current ? refusal(this.#current.task, 'memory') : error)
    })
    thread.on('exit', () => {
      if (thread === this.#thread) this.#end(new Error(`the thread "${name}" has ended`))
    })
  }

  #onAnswer(answer: LineAnswer<Result, Refused>): void {
    if (answer.kind === 'ready') this.#isReady = true
    else this.#settle(answer)
    this.#rest()
    this.#next()
  }

  #settle(answer: Exclude<LineAnswer<Result, Refused>, { kind: 'ready' }>): void {
    const asked = this.#current
    this.#current = null
    if (answer.kind === 'done') asked?.resolve(answer.result)
    else if (answer.kind === 'refused') asked?.reject(this.#options.errorOf(answer.refused))
    else asked?.reject(Object.assign(new Error(answer.message), { stack: answer.stack }))
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#thread?.unref()
    this.#timer = setTimeout(() => this.#end(this.#options.busy()), idleMs)
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
}
