import { ApiError } from './errors.ts'

interface SeatLimits {
  ofKey: number
  ofProject: number
  ofProcess: number
  /** What they sit there for, in words that go before "in 20 requests already": `waits for mail`. */
  doing: string
  /** The same of many, and a way out, when the whole process is full. */
  tooMany: string
}

interface Guest {
  counted_as: string
  project_id: string
}

/** How many requests may stay open at once in this process: each of them holds a connection of its client. */
export class Seats {
  readonly #limits: SeatLimits
  readonly #ofKey = new Map<string, number>()
  readonly #ofProject = new Map<string, number>()
  #count = 0

  constructor(limits: SeatLimits) {
    this.#limits = limits
  }

  /** Until `ended`. 429 when there is none left. */
  take({ counted_as, project_id }: Guest, ended: AbortSignal): void {
    const { ofKey, ofProject, ofProcess, doing, tooMany } = this.#limits
    const [key, project] = [this.#ofKey.get(counted_as) ?? 0, this.#ofProject.get(project_id) ?? 0]
    if (key >= ofKey) throw refusal(`This key ${doing} in ${ofKey} requests already. End one of them first.`)
    if (project >= ofProject) throw refusal(`This project ${doing} in ${ofProject} requests already. End one of them first.`)
    // However many projects hold on to theirs, whoever comes next finds one (as delivery/places.ts has it).
    if (project >= (ofProcess - this.#count) / 5) throw refusal(tooMany)
    // Who has left already takes none, and would never give it back.
    if (ended.aborted) return
    this.#count++
    this.#ofKey.set(counted_as, key + 1)
    this.#ofProject.set(project_id, project + 1)
    const leave = () => {
      this.#count--
      countDown(this.#ofKey, counted_as)
      countDown(this.#ofProject, project_id)
    }
    ended.addEventListener('abort', leave, { once: true })
  }
}

function countDown(counts: Map<string, number>, of: string): void {
  const left = (counts.get(of) ?? 1) - 1
  if (left === 0) counts.delete(of)
  else counts.set(of, left)
}

const refusal = (message: string) => new ApiError('rate_limited', message, { headers: { 'retry-after': '5' } })
