/** Keeps what was used last, up to so many bytes. */
export class ByteCache<Value> {
  readonly #max: number
  readonly #entries = new Map<string, { value: Value; bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#max = maxBytes
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    // A Map keeps the order in which keys came: what is used goes to its end.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** What is larger than an eighth of all is not kept: it would push out too much else. */
  put(key: string, value: Value, bytes: number): void {
    this.delete(key)
    const size = bytes + 2 * key.length
    if (size > this.#max / 8) return
    this.#entries.set(key, { value, bytes: size })
    this.#bytes += size
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#max) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#bytes -= entry.bytes
    this.#entries.delete(key)
  }

  get bytes(): number {
    return this.#bytes
  }
}
