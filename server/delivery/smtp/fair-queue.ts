/** First in, first out within a lane; the lanes take turns, so that one letter does not wait behind a whole newsletter. */
export class FairQueue<Item extends { lane: string }> {
  /** In the order of their turns. A lane with nothing in it is not here. */
  readonly #lanes = new Map<string, Item[]>()
  #length = 0

  get length(): number {
    return this.#length
  }

  add(item: Item): void {
    this.#laneOf(item).push(item)
    this.#length++
  }

  /** Back to where it came from, ahead of the others of its lane. */
  addFirst(item: Item): void {
    this.#laneOf(item).unshift(item)
    this.#length++
  }

  take(): Item | null {
    const [first] = this.#lanes
    if (first === undefined) return null
    const [name, items] = first
    const item = items.shift() as Item
    this.#length--
    if (this.#lanes.size > 1 || items.length === 0) this.#lanes.delete(name)
    if (items.length > 0) this.#lanes.set(name, items)
    return item
  }

  takeAll(): Item[] {
    const all = [...this.#lanes.values()].flat()
    this.#lanes.clear()
    this.#length = 0
    return all
  }

  #laneOf(item: Item): Item[] {
    const lane = this.#lanes.get(item.lane)
    if (lane) return lane
    const made: Item[] = []
    this.#lanes.set(item.lane, made)
    return made
  }
}
