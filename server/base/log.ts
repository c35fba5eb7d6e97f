import { type Logger, type LoggerOptions, pino } from 'pino'
import { formatId, type IdPrefix } from './ids.ts'

/** Structured lines on standard output. Addresses and bodies are never passed in: ids are. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

export const createLog = (level: string): Logger => pino(logOptions(level))

export const logOptions = (level: string): LoggerOptions => ({
  level,
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }), log: withTypedIds },
})

/** What a field of a line names. */
const prefixes: Record<string, IdPrefix> = {
  project_id: 'prj',
  user_id: 'usr',
  key_id: 'key',
  registration_id: 'reg',
  list_id: 'lst',
  subscriber_id: 'sub',
  contact_id: 'con',
  mailbox_id: 'mbx',
  post_id: 'post',
  broadcast_id: 'brd',
  delivery_id: 'dlv',
  email_id: 'eml',
  message_id: 'msg',
  webhook_id: 'whk',
}
const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/

/** Ids as the API shows them: what a user names is found in the log as it was named. */
function withTypedIds(line: Record<string, unknown>): Record<string, unknown> {
  const typed: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(line)) {
    const prefix = prefixes[field]
    typed[field] = prefix && typeof value === 'string' && uuid.test(value) ? formatId(prefix, value) : value
  }
  return typed
}
