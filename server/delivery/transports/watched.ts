import type { Log } from '../../base/log.ts'
import { Trouble } from '../../base/trouble.ts'
import { countMail } from '../../metrics/counters.ts'
import type { Outcome, Transport } from './transport.ts'

/** One that fails may be chance; so many in a row are the relay. */
const closedAfter = 3

/** Nobody answered, or the relay does not know us: it is not about this message. */
const isClosed = (outcome: Outcome): outcome is Extract<Outcome, { kind: 'deferred' }> =>
  outcome.kind === 'deferred' && (outcome.smtp_code === null || Math.floor(outcome.smtp_code / 10) === 53)

/** Some servers repeat the address, which is nothing for a log. */
const withoutAddresses = (words: string): string => words.replace(/[^\s<>@]+@[^\s<>]+/g, '…')

/**
 * Tells the log how attempts end, in the other server's words (`LOG_LEVEL=debug`); and, where all mail leaves by one relay, that it is closed
 * and that it is open again: who looks there at night should not have to ask each message.
 */
export function watched(transport: Transport, log: Log): Transport {
  const isOneRelay = transport.name === 'smtp' || transport.name === 'ses'
  const closed = new Trouble(log, {
    line: 'no mail leaves: it is tried again until it does, see OUTBOUND',
    again: 'mail leaves again',
    words: 'no mail leaves just now',
  })
  let failed = 0
  const note = (outcome: Outcome) => {
    // Nobody was asked.
    if (outcome.kind === 'deferred' && outcome.isUnbegun) return
    if (isClosed(outcome)) {
      if (++failed >= closedAfter) closed.met(new Error(outcome.reason), { detail: withoutAddresses(outcome.detail) })
    } else {
      failed = 0
      closed.over()
    }
  }
  return {
    name: transport.name,
    async send(envelope, message, about) {
      const outcome = await transport.send(envelope, message, about)
      countMail(transport.name, outcome)
      if (isOneRelay) note(outcome)
      const { kind, smtp_code } = outcome
      const answer = withoutAddresses(outcome.kind === 'delivered' ? outcome.response : outcome.detail)
      log.debug({ message_id: about.message_id, kind, smtp_code, answer }, 'an attempt to send has ended')
      return outcome
    },
    ...(transport.hasRoomFor ? { hasRoomFor: (domain: string) => transport.hasRoomFor?.(domain) ?? true } : {}),
    verify: () => transport.verify(),
    close: () => transport.close(),
  }
}
