import type { Worker } from 'node:worker_threads'
import type { PassingMap } from '../base/passing-map.ts'
import type { SpooledMessage } from './inbound-message.ts'
import type { ParseTask, ReadMail } from './parse-task.ts'
import type { Senders } from './senders.ts'

/** A thread of the pool, and what it is at. */
export interface Thread {
  worker: Worker
  isReady: boolean
  at: PassingMap<number, Reading>
  /** Of all that it is at. */
  bytes: number
  /** What it gets next, all in one message: each costs both sides a turn. */
  outbox: ParseTask[]
  /** How many of those it is at were the end of a thread before. */
  suspects: number
  /** When it was last heard of, or got something to do after a rest. */
  heardAt: number
  /** How often it was listened for in vain: at work for its beats, without any for work. */
  silent: number
}

export interface Reading {
  message: SpooledMessage
  senders: Senders
  tries: number
  resolve(mail: ReadMail): void
  reject(error: Error): void
}

/**
 * One thread keeps up with mail that nobody signed: a second one would only need as much memory again, and make V8 compile everything twice.
 * But where there are two, nobody joins the one that has been silent for a while: it may be at a message that takes long.
 */
const enough = { messages: 24, bytes: 256 * 1024, silentMs: 50 }
export const hasEnough = ({ at, bytes, heardAt }: Thread): boolean =>
  at.size >= enough.messages || bytes >= enough.bytes || (at.size > 0 && performance.now() - heardAt > enough.silentMs)

/** It has not told for so long that it turns. It may yet; until then it gets nothing more. */
const hangingTicks = 3
export const isHanging = ({ at, silent }: Thread): boolean => at.size > 0 && silent >= hangingTicks
