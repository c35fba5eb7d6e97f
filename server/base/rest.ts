/** A wait that is over early when somebody says so. One at a time. */
export class Rest {
  #end = () => {}

  for(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    this.#end = end
    return promise
  }

  end(): void {
    this.#end()
  }
}
