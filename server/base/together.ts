interface Options<Item> {
  /** So many go together at most. */
  most: number
  /** Items of different lines do not wait for each other, and never go together. Left out, all are in one. */
  lineOf?: (item: Item) => string
  /** What is nobody's own fault, such as a lost connection: all of them fail with it, and nothing is tried again. */
  isOfAll: (error: unknown) => boolean
}

interface Waiting<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Makes of work on many a function for one. An item that comes alone goes at once; those that come while others are under way wait,
 * and go in one batch then. `work` answers one result for each, in their order. When a batch fails, each of it is done alone, so
 * that an error belongs to its owner.
 */
export function together<Item, Result>(
  work: (items: Item[]) => Promise<Result[]>,
  options: Options<Item>,
): (item: Item) => Promise<Result> {
  const { most, lineOf = () => '', isOfAll } = options
  const lines = new Map<string, Waiting<Item, Result>[]>()

  const doBatch = async (batch: Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await work(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Result) // one for each
      })
    } catch (error) {
      if (batch.length > 1 && !isOfAll(error)) for (const one of batch) await doBatch([one])
      else for (const { reject } of batch) reject(error)
    }
  }
  const doLine = async (line: string, waiting: Waiting<Item, Result>[]): Promise<void> => {
    while (waiting.length > 0) await doBatch(waiting.splice(0, most))
    lines.delete(line)
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const line = lineOf(item)
      const waiting = lines.get(line)
      const mine = { item, resolve, reject }
      if (waiting) {
        waiting.push(mine)
        return
      }
      const begun = [mine]
      lines.set(line, begun)
      doLine(line, begun)
    })
}
