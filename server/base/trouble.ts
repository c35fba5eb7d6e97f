import { reasonOf } from './errors.ts'
import type { Log } from './log.ts'

const sayEveryMs = 60_000
/** One that nobody has met for so long is taken for over: whoever met it may have nothing to do any more. */
const lastsMs = 30_000
/** Reasons that are told apart. More are no repetition of anything, and the oldest of them are forgotten. */
const mostKinds = 20

/** Which of many that are alike are said: one a minute, with the number of those that were left out since. */
export class Repeats {
  readonly #said = new Map<string, { at: number; left_out: number }>()

  /** How many like it were left out before it; null when this one is left out, too. */
  meet(kind: string, nowMs: number): number | null {
    const last = this.#said.get(kind)
    if (last && nowMs - last.at < sayEveryMs) {
      last.left_out++
      return null
    }
    this.#said.delete(kind)
    this.#said.set(kind, { at: nowMs, left_out: 0 })
    const [oldest] = this.#said.keys()
    if (oldest !== undefined && this.#said.size > mostKinds) this.#said.delete(oldest)
    return last?.left_out ?? 0
  }

  /** How many were left out and not told of since; they are then. When each was last said stays known: what comes and goes is no news. */
  takeLeftOut(): number {
    let count = 0
    for (const said of this.#said.values()) {
      count += said.left_out
      said.left_out = 0
    }
    return count
  }
}

interface TroubleOptions {
  /** What the log says of it; without, somebody else does. */
  line?: string
  level?: 'warn' | 'error'
  /** What the log says when it is over; without, only where something had been left out. */
  again?: string
  /** Further fields of the line. */
  about?: object
  /** What /readyz says of it while it lasts, to anybody who asks: no names, no addresses. The reason is put behind it. */
  words?: string
}

/** Those of a program that last, by the log that they are told to. */
const lasting = new WeakMap<Log, Set<Trouble>>()

/**
 * Something that fails again and again while its cause lasts: a full disk, a database that takes no writes. The log has a line of it once a
 * minute for each reason, and /readyz a sentence until it is over.
 */
export class Trouble {
  readonly #log: Log
  readonly #options: TroubleOptions
  readonly #repeats = new Repeats()
  #last: { at: number; why: string } | null = null

  constructor(log: Log, options: TroubleOptions) {
    this.#log = log
    this.#options = options
  }

  met(error: unknown, more: object = {}): void {
    const { line, level = 'warn', about, words } = this.#options
    const now = performance.now()
    this.#last = { at: now, why: whyOf(error) }
    if (words !== undefined) lasting.set(this.#log, (lasting.get(this.#log) ?? new Set()).add(this))
    if (line === undefined) return
    const left_out = this.#repeats.meet(codeOf(error) ?? reasonOf(error), now)
    if (left_out !== null) this.#log[level]({ ...about, ...more, reason: reasonOf(error), ...(left_out > 0 ? { left_out } : {}) }, line)
  }

  /** Does the work, and knows by it whether the trouble lasts. `instead` is the answer when it fails. */
  async around<Result>(work: () => Promise<Result>, instead: Result): Promise<Result> {
    try {
      const result = await work()
      this.over()
      return result
    } catch (error) {
      this.met(error)
      return instead
    }
  }

  /** It works. Costs nothing when it did before. */
  over(): void {
    if (this.#last === null) return
    this.#last = null
    lasting.get(this.#log)?.delete(this)
    const { line, about, again } = this.#options
    const left_out = this.#repeats.takeLeftOut()
    if ((left_out > 0 || again !== undefined) && this.#repeats.meet('over', performance.now()) !== null)
      this.#log.warn({ ...about, what: line, ...(left_out > 0 ? { left_out } : {}) }, again ?? 'what failed works again')
  }

  /** What is told of it, and why it is so; null when it is over, or nobody has met it for a while. */
  get told(): { words: string; why: string } | null {
    if (this.#last === null || performance.now() - this.#last.at > lastsMs) return null
    return { words: this.#options.words ?? '', why: this.#last.why }
  }
}

const rare = new WeakMap<Log, Map<string, Trouble>>()

/** For a line that many may say, of one message each, none of which is there for long. */
export function rarely(log: Log, line: string): Trouble {
  const ofLog = rare.get(log) ?? new Map<string, Trouble>()
  rare.set(log, ofLog)
  const trouble = ofLog.get(line) ?? new Trouble(log, { line })
  ofLog.set(line, trouble)
  return trouble
}

/** What lasts at this moment of all that is told to this log, in words; null when nothing does. What has one reason is told together. */
export function troubleOf(log: Log): string | null {
  const told = [...(lasting.get(log) ?? [])].map((trouble) => trouble.told).filter((one) => one !== null)
  const byReason = Map.groupBy(told, ({ why }) => why)
  return inOne([...byReason].map(([why, all]) => `${all.map(({ words }) => words).join(', ')}: ${why}`))
}

/** Each once. */
export const inOne = (sentences: (string | null)[]): string | null =>
  [...new Set(sentences.filter((sentence) => sentence !== null))].join('; ') || null

const codeOf = (error: unknown): string | undefined => {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  const found = code ?? cause?.code
  return typeof found === 'string' ? found : undefined
}

/** The codes are those of the system and of PostgreSQL. */
const reasons: [codes: RegExp, words: string][] = [
  [/^(?:ENOSPC|EDQUOT|53100)$/, 'the disk is full'],
  [/^EROFS$/, 'the disk is read-only'],
  [/^25006$/, 'the database is read-only'],
  [/^53200$/, 'the database is out of memory'],
]
const whyOf = (error: unknown): string => reasons.find(([codes]) => codes.test(codeOf(error) ?? ''))?.[1] ?? 'the log says why'
