/**
 * A Map for things that come and go by the thousand, and are heavy. V8 ties each table that a Map has outgrown to the next one, with what was in it. Once
 * one of them is old, all that follow are kept until the whole heap has been marked: most mail that ever was in hand. Here the tables hold boxes, and a box
 * is emptied when its thing leaves.
 */
export class PassingMap<Key, Value> {
  readonly #boxes = new Map<Key, { value: Value | null }>()

  get size(): number {
    return this.#boxes.size
  }

  has(key: Key): boolean {
    return this.#boxes.has(key)
  }

  get(key: Key): Value | undefined {
    return this.#boxes.get(key)?.value ?? undefined
  }

  set(key: Key, value: Value): void {
    this.#boxes.set(key, { value })
  }

  delete(key: Key): boolean {
    const box = this.#boxes.get(key)
    if (box) box.value = null
    return this.#boxes.delete(key)
  }

  clear(): void {
    for (const key of this.#boxes.keys()) this.delete(key)
  }

  keys(): IteratorObject<Key> {
    return this.#boxes.keys()
  }

  /** In the order in which they came. */
  values(): IteratorObject<Value> {
    // Those that are here have one.
    return this.#boxes.values().map(({ value }) => value as Value)
  }
}
