import { PassingMap } from '../base/passing-map.ts'

/**
 * How long mail waits for the name servers of its senders. When more of it waits than should, nobody waits long: what others were to
 * vouch for is left open then, and the mail is filed.
 */
export interface Patience {
  /** One message is being judged; `end` is called when its time is over. */
  beginMessage(end: () => void): Waiting
  /** One question with a time of its own. */
  beginQuestion(end: () => void): Waiting
}

export interface Waiting {
  /** It waits no more. */
  done(): void
}

/** For all look-ups of one message together. A name server that hangs makes them `temperror`, and the mail is filed all the same. */
const messageMs = { calm: 6_000, crowded: 1_000 }
/** For each question about the policy of the domain in From. Others' name servers must not use up its time: the policy would not count. */
const questionMs = { calm: 3_000, crowded: 1_000 }
const lookEveryMs = 100

interface Entry {
  number: number
  since: number
  limits: typeof messageMs
  end(): void
}

/** One clock for all of them: a timer for each would keep its message in memory until it went off. */
export function createPatience({ places }: { places: number }): Patience {
  const messages = new PassingMap<number, Entry>()
  const questions = new PassingMap<number, Entry>()
  let numbers = 0
  let clock: NodeJS.Timeout | null = null

  const look = () => {
    if (clock && messages.size + questions.size === 0) {
      // Nobody has waited for a whole turn of the clock: it would be wound up anew for each message.
      clearInterval(clock)
      clock = null
    }
    const now = performance.now()
    const mood = messages.size >= places / 2 ? 'crowded' : 'calm'
    for (const entries of [messages, questions]) {
      for (const { number, since, limits, end } of entries.values()) if (now - since > limits[mood] && entries.delete(number)) end()
    }
  }
  const begin = (entries: PassingMap<number, Entry>, limits: Entry['limits'], end: () => void): Waiting => {
    const number = numbers++
    entries.set(number, { number, since: performance.now(), limits, end })
    clock ??= setInterval(look, lookEveryMs)
    return { done: () => void entries.delete(number) }
  }
  return {
    beginMessage: (end) => begin(messages, messageMs, end),
    beginQuestion: (end) => begin(questions, questionMs, end),
  }
}
