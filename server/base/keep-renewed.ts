const retryMs = 1_000

interface Options {
  everyMs: number
  onFailure(error: Error): void
}

/**
 * Renews a lease until told otherwise, and after a failure every second: when the database was away, leases may have run out, and whoever
 * lives has to be heard before anybody takes its work over (see `in-touch.ts`). It keeps no program from ending.
 */
export function keepRenewed(renew: () => Promise<unknown>, { everyMs, onFailure }: Options): () => void {
  let isOver = false
  let timer: NodeJS.Timeout
  const plan = (ms: number) => {
    if (!isOver) timer = setTimeout(() => void turn(), ms).unref()
  }
  const turn = () =>
    renew().then(
      () => plan(everyMs),
      (error: Error) => {
        onFailure(error)
        plan(Math.min(retryMs, everyMs))
      },
    )
  plan(everyMs)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
