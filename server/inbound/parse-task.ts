import type { FiledInput } from './inbound-message.ts'

export interface ParseThreadData {
  mailDomain: string
  /** Empty for those of the system. */
  dnsServers: string[]
}

/** Nothing but plain data passes between the threads; bytes are handed over, not copied. */
export interface ParseTask {
  number: number
  raw: Uint8Array<ArrayBuffer>
  envelope_from: string
  /** As in RCPT TO. */
  recipients: string[]
  address: string | null
  helo: string
  /** No more than the head is to be read, because of this. */
  problem: string | null
}

export type ReadMail = Omit<FiledInput, 'message'>

export type ParseAnswer =
  /** It turns. */
  { kind: 'ready' } | { kind: 'beat' } | ReadAnswer

export type ReadAnswer = ({ kind: 'read'; number: number } & ReadMail) | { kind: 'failed'; number: number; reason: string }

export const beatEveryMs = 1_000

/** What a thread is at at one time: it reads one, and the others wait for name servers. */
export const maxAtOnce = 64
