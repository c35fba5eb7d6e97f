/**
 * What filling in a post costs and how often it fails, for one broadcast. One reader is bounded (`mail/compile/liquid.ts`), but a million
 * readers of a post that keeps to that bound would take hours from everybody else, and a post that fails for one after the other would
 * fail for all.
 */
const limits = { meanMs: 25, over: 40, failuresInARow: 10 }

export class FillWatch {
  #count = 0
  #ms = 0
  #failures = 0

  /** Why the broadcast has to pause, in words for its owner; null while all is well. */
  filled(ms: number): string | null {
    this.#failures = 0
    this.#count++
    this.#ms += ms
    if (this.#count < limits.over) return null
    const mean = this.#ms / this.#count
    this.#count = 0
    this.#ms = 0
    if (mean <= limits.meanMs) return null
    return `filling it in takes ${Math.round(mean)} ms for each reader, and at most ${limits.meanMs} ms are allowed. Make its loops shorter, and send it as a new post`
  }

  failed({ message }: Error): string | null {
    this.#failures++
    if (this.#failures < limits.failuresInARow) return null
    this.#failures = 0
    return `it could not be put together for ${limits.failuresInARow} readers in a row. The last problem: ${message}. Look at it with a preview for one of them`
  }
}
