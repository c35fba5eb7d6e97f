/** The share of one owner: a network address, or a key. */
const ofOne = 1 / 2

/** How many bytes of bodies this process holds, from their first byte to their answer: over all requests, and for each who sends them. */
export class BodyMemory {
  readonly #limit: number
  readonly #usedBy = new Map<string, number>()
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  hasRoom(bytes: number, owners: readonly string[]): boolean {
    if (this.#used + bytes > this.#limit) return false
    return owners.every((owner) => (this.#usedBy.get(owner) ?? 0) + bytes <= this.#limit * ofOne)
  }

  take(bytes: number, owners: readonly string[]): void {
    this.#used += bytes
    for (const owner of owners) this.#usedBy.set(owner, (this.#usedBy.get(owner) ?? 0) + bytes)
  }

  give(bytes: number, owners: readonly string[]): void {
    this.#used -= bytes
    for (const owner of owners) {
      const left = (this.#usedBy.get(owner) ?? 0) - bytes
      if (left > 0) this.#usedBy.set(owner, left)
      else this.#usedBy.delete(owner)
    }
  }
}
