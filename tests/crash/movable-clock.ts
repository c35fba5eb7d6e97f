import { existsSync, readFileSync } from 'node:fs'

/**
 * Loaded before the program, this puts the clock of its process where CLOCK_FILE says, as a person with `date -s` or a bad time server
 * would. Timers go on as they do then: they do not look at this clock. A file, so that every thread of the program hears of it.
 */
const file = process.env.CLOCK_FILE as string
const trueNow = Date.now
let movedMs = 0
const look = () => {
  movedMs = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
}
look()
setInterval(look, 20).unref()
Date.now = () => trueNow() + movedMs
globalThis.Date = new Proxy(Date, {
  construct: (date, values, target) => Reflect.construct(date, values.length === 0 ? [date.now()] : values, target),
})
