/**
 * Room for what is under way at once, shared by owners who do not wait for one another. One alone may take three quarters; what is left
 * is there for whoever comes next, who may take three quarters of that. However long the first holds its places, nobody finds all
 * taken. (Choudhury and Hahne, "Dynamic queue length thresholds", 1998.)
 */
export class Places<Owner> {
  readonly #total: number
  readonly #taken = new Map<Owner, number>()
  #free: number

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  get taken(): number {
    return this.#total - this.#free
  }

  get isFull(): boolean {
    return this.#free <= 0
  }

  hasRoomFor(owner: Owner): boolean {
    return (this.#taken.get(owner) ?? 0) < 3 * this.#free
  }

  /** Who may take no more before one of theirs is done. */
  get full(): Owner[] {
    return [...this.#taken.keys()].filter((owner) => !this.hasRoomFor(owner))
  }

  take(owner: Owner): void {
    this.#free--
    this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + 1)
  }

  leave(owner: Owner): void {
    this.#free++
    const left = (this.#taken.get(owner) ?? 0) - 1
    if (left > 0) this.#taken.set(owner, left)
    else this.#taken.delete(owner)
  }
}
