import type { Transport } from './transport.ts'

/** A row of `captured_messages`, but for the id and the time, which the one who writes it adds. */
export interface CapturedMessage {
  envelope_from: string
  envelope_to: string
  subject: string
  message: Buffer
}

export type StoreCapturedMessage = (message: CapturedMessage) => Promise<void>

/** Keeps mail instead of sending it: the default until OUTBOUND is set, so that a trial cannot write to strangers. */
export const createCaptureTransport = (store: StoreCapturedMessage): Transport => ({
  name: 'capture',

  async send(envelope, message, about) {
    const whole = Buffer.isBuffer(message) ? message : Buffer.concat(message)
    try {
      await store({ envelope_from: envelope.from, envelope_to: envelope.to, subject: about.subject, message: whole })
    } catch (error) {
      const reason = 'The message could not be kept; it is tried again'
      return { kind: 'deferred', smtp_code: null, enhanced_code: null, reason, detail: String(error) }
    }
    about.onAccepted?.()
    return { kind: 'delivered', smtp_code: null, response: 'captured' }
  },

  async verify() {},

  async close() {},
})
