import { type Logger, pino } from 'pino'

/** Structured lines on standard output. Addresses and bodies are never passed in: ids are. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

export const createLog = (level: string): Logger =>
  pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } })
