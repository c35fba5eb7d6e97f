/** A "no" over SMTP: the code, the enhanced code (RFC 3463) and what a person reads in the bounce. */
export interface Refusal {
  code: 421 | 450 | 451 | 452 | 550 | 552 | 554
  enhanced: string
  text: string
}

/** Every answer of ours that is no yes. What smtp-server refuses by itself (grammar, order of commands) is not here. */
export const refusals = {
  /** The same for what never was, what is deleted and what has run out: an address tells strangers nothing about its past. */
  no_mailbox: { code: 550, enhanced: '5.1.1', text: 'There is no such mailbox here' },
  closed_mailbox: { code: 550, enhanced: '5.2.1', text: 'This mailbox is closed' },
  paused_mailbox: { code: 450, enhanced: '4.2.1', text: 'This mailbox is paused; try again later' },
  bounce_to_many: { code: 550, enhanced: '5.5.3', text: 'A message without a sender may have one recipient only' },
  greylisted: { code: 450, enhanced: '4.7.1', text: 'We have not met before; try again in a minute' },
  too_many_connections: { code: 421, enhanced: '4.7.0', text: 'Too many connections from your address; close some first' },
  too_many_messages: { code: 450, enhanced: '4.7.1', text: 'Too many messages from your address in this minute; try again later' },
  too_many_wrong_recipients: { code: 421, enhanced: '4.7.0', text: 'Too many recipients that do not exist; try again later' },
  too_big: { code: 552, enhanced: '5.3.4', text: 'The message is larger than we take' },
  /** RFC 3463 section 3.7: its content, and not its size, is what nobody could read. */
  monster: { code: 554, enhanced: '5.6.0', text: 'The message has more parts or headers than we take' },
  no_room: { code: 452, enhanced: '4.3.1', text: 'Too much mail is under way; try again later' },
  loop: { code: 554, enhanced: '5.4.6', text: 'The message has passed too many servers: it goes in circles' },
  not_stored: { code: 451, enhanced: '4.3.0', text: 'The message could not be stored; try again later' },
  no_answer: { code: 451, enhanced: '4.3.0', text: 'This cannot be looked up now; try again later' },
  took_too_long: { code: 421, enhanced: '4.4.2', text: 'That took too long; come again' },
  stopping: { code: 421, enhanced: '4.3.2', text: 'We are about to restart; try again in a moment' },
} as const satisfies Record<string, Refusal>

/**
 * For smtp-server. It adds an enhanced code of its own choice to a number, and none to a text, so both codes go into a text; tests hold
 * it to that.
 */
export class RefusalError extends Error {
  readonly responseCode: string
  constructor({ code, enhanced, text }: Refusal) {
    super(text)
    this.responseCode = `${code} ${enhanced}`
  }
}
