import { createCaptureTransport, type StoreCapturedMessage } from './capture.ts'
import { createSmtpTransport } from './smtp.ts'
import type { Transport } from './transport.ts'

export type { CapturedMessage } from './capture.ts'
export type { Envelope, Outcome, Transport } from './transport.ts'

export interface TransportDependencies {
  storeCapturedMessage: StoreCapturedMessage
}

/** The transport that OUTBOUND names. Throws one line that names OUTBOUND, and never repeats a password in it. */
export function createTransport(outbound: string, { storeCapturedMessage }: TransportDependencies): Transport {
  if (outbound === 'capture') return createCaptureTransport(storeCapturedMessage)
  if (/^smtps?:/i.test(outbound)) return createSmtpTransport(outbound)
  throw new Error('OUTBOUND must be capture, smtp://user:password@host:port or smtps://user:password@host:port')
}
