import type { ServerResponse } from 'node:http'

/** Tells answers that take their time when nobody waits for them any more. */
export class Endings {
  readonly #open = new Map<ServerResponse, AbortController>()
  #isOver = false

  /** Aborts when this answer is given, or its client has left, or `endAll` is called. */
  of(response: ServerResponse): AbortSignal {
    const ending = new AbortController()
    if (this.#isOver || response.closed) {
      ending.abort()
      return ending.signal
    }
    const known = this.#open.get(response)
    if (known) return known.signal
    this.#open.set(response, ending)
    response.once('close', () => {
      this.#open.delete(response)
      ending.abort()
    })
    return ending.signal
  }

  /** This process stops: what waits is answered with what there is, and lets go of its connection, which would be waited for. */
  endAll(): void {
    this.#isOver = true
    for (const [response, ending] of this.#open) {
      if (!response.headersSent) response.setHeader('connection', 'close')
      ending.abort()
    }
  }
}
