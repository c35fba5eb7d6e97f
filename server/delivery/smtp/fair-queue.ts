/** First in, first out within a lane; the lanes take turns, so that one letter does not wait behind a whole newsletter. */
export class FairQueue<Item> {
  readonly #laneOf: (item: Item) => string
  /** In the order of their turns. A lane with nothing in it is not here. */
  readonly #lanes = new Map<string, Item[]>()
  #length = 0

  constructor(laneOf: (item: Item) => string) {
    this.#laneOf = laneOf
  }

  get length(): number {
    return this.#length
  }

  /** How many lanes have something in them. */
  get lanes(): number {
    return this.#lanes.size
  }

  lengthOf(lane: string): number {
    return this.#lanes.get(lane)?.length ?? 0
  }

  add(item: Item): void {
    this.#itemsBeside(item).push(item)
    this.#length++
  }

  /** Back to where it came from, ahead of the others of its lane. */
  addFirst(item: Item): void {
    this.#itemsBeside(item).unshift(item)
    this.#length++
  }

  /** The next, past the lanes whose first may not go now. */
  take(mayGo: (next: Item) => boolean = () => true): Item | null {
    for (const [name, items] of this.#lanes) {
      if (!mayGo(items[0] as Item)) continue
      const item = items.shift() as Item
      this.#length--
      if (this.#lanes.size > 1 || items.length === 0) this.#lanes.delete(name)
      if (items.length > 0) this.#lanes.set(name, items)
      return item
    }
    return null
  }

  all(): Item[] {
    return [...this.#lanes.values()].flat()
  }

  takeAll(): Item[] {
    const all = this.all()
    this.#lanes.clear()
    this.#length = 0
    return all
  }

  #itemsBeside(item: Item): Item[] {
    const name = this.#laneOf(item)
    const lane = this.#lanes.get(name)
    if (lane) return lane
    const made: Item[] = []
    this.#lanes.set(name, made)
    return made
  }
}
