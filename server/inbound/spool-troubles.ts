import type { Log } from '../base/log.ts'
import { Trouble } from '../base/trouble.ts'

/** What may keep mail in the spool, as operators are told of it. */
export const troublesOf = (log: Log) => ({
  filing: new Trouble(log, {
    line: 'mail cannot be filed for now; it waits in the spool, and is tried every second',
    level: 'error',
    again: 'mail is filed again',
    words: 'mail that came in waits, since it cannot be filed just now',
  }),
  noting: new Trouble(log, { line: 'the spool cannot be told why its mail waits' }),
  renewing: new Trouble(log, { line: 'claims on mail in the spool could not be renewed' }),
  returning: new Trouble(log, { line: 'mail could not be given back to the spool' }),
})
