/** One thing that was looked at. `warning` may be just as wanted; with `bad`, Posthaste does not start or does not work. */
export interface Check {
  name: string
  state: 'good' | 'warning' | 'bad'
  /** What there is. */
  seen: string
  /** What to do about it. */
  next?: string
}

/** A limit for what may never answer. */
export async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ms / 1000} seconds`)), ms)
  })
  return Promise.race([work, tooLate]).finally(() => clearTimeout(timer))
}
