/** How often the sink does each of these, from 0 to 1. */
export interface Faults {
  /** 451 to a recipient. */
  defer?: number
  /** 550 to a recipient. */
  refuse?: number
  /** 451 to a whole message. */
  deferMessage?: number
  /** Hangs up instead of answering the final dot, and has not taken the message. */
  drop?: number
  /** Hangs up instead of answering the final dot, and has taken the message. */
  dropAccepted?: number
  /** Is silent for `hangMs` before it answers to a recipient. */
  hang?: number
  hangMs?: number
}

export type SinkOrder =
  | { order: 'behave'; faults: Faults }
  | { order: 'count' }
  | { order: 'report' }
  | { order: 'restart'; awayMs: number }

export interface SinkReport {
  accepted: [recipient: string, times: number][]
  refused: string[]
  unanswered: string[]
}
