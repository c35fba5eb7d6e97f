import { type Component, childrenOf, firstProperty } from './components.ts'
import { placeOfWindowsZone } from './windows-zones.ts'

/** Where a clock on the wall is ahead of UTC by so many milliseconds, at a time of that clock. */
export interface Zone {
  /** As Intl knows it; null for one that only the calendar itself describes. */
  name: string | null
  /** What is read from a wall in that zone, as if it were UTC, to the moment that it is. */
  toUtc(wallMs: number): number
}

/** Of whoever wrote no zone: their clock is taken for UTC's. */
export const floating: Zone = { name: null, toUtc: (wallMs) => wallMs }

/** The zone that a calendar means by a TZID: by a name that the world knows, else by what the calendar says of it itself. */
export function zoneOf(tzid: string, calendar: Component): Zone {
  const described = childrenOf(calendar, 'VTIMEZONE').find((zone) => firstProperty(zone, 'TZID')?.value.trim() === tzid.trim())
  const location = described && firstProperty(described, 'X-LIC-LOCATION')?.value
  const name = knownName(tzid) ?? (location === undefined ? null : knownName(location))
  if (name) return { name, toUtc: (wallMs) => wallToUtc(wallMs, (utcMs) => offsetIn(name, utcMs)) }
  return (described && describedZone(described)) ?? offsetZone(tzid) ?? floating
}

/** Olson names, also behind a prefix as in `/mozilla.org/20050126_1/Europe/Berlin`, and those of Windows. */
function knownName(tzid: string): string | null {
  const written = tzid.trim()
  const place = placeOfWindowsZone(written)
  if (place) return place
  const parts = written.split('/').filter((part) => part !== '')
  for (const length of [3, 2, 1]) {
    const name = parts.slice(-length).join('/')
    if (parts.length >= length && /^[A-Za-z][\w+/-]{1,60}$/.test(name) && formatterOf(name)) return name
  }
  return null
}

const formatters = new Map<string, Intl.DateTimeFormat | null>()
const maxFormatters = 1_000

/** Null when there is no such zone. Remembered, because making one takes longer than using it a hundred times. */
function formatterOf(name: string): Intl.DateTimeFormat | null {
  const known = formatters.get(name)
  if (known !== undefined) return known
  const made = makeFormatter(name)
  // Strangers choose the names.
  if (formatters.size < maxFormatters) formatters.set(name, made)
  return made
}

function makeFormatter(timeZone: string): Intl.DateTimeFormat | null {
  try {
    const number = 'numeric'
    const parts = { year: number, month: number, day: number, hour: number, minute: number, second: number } as const
    return new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', era: 'short', ...parts })
  } catch {
    // No such zone: that is the answer.
    return null
  }
}

function offsetIn(name: string, utcMs: number): number {
  const read: Record<string, number> = {}
  for (const { type, value } of formatterOf(name)?.formatToParts(utcMs) ?? []) read[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = read
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(utcMs / 1_000) * 1_000
}

const dayMs = 86_400_000

/** RFC 5545 section 3.3.5: a time that comes twice is the first of the two; one that never comes is read with the offset before. */
function wallToUtc(wallMs: number, offsetAt: (utcMs: number) => number): number {
  const [before, after] = [offsetAt(wallMs - dayMs), offsetAt(wallMs + dayMs)]
  if (offsetAt(wallMs - before) === before) return wallMs - before
  return offsetAt(wallMs - after) === after ? wallMs - after : wallMs - before
}

/** `(UTC+01:00) Amsterdam, Berlin, …` and the like. */
function offsetZone(tzid: string): Zone | null {
  const found = /(?:UTC|GMT)([+-])(\d{1,2}):?(\d\d)?/i.exec(tzid)
  if (!found) return null
  const offset = (found[1] === '-' ? -1 : 1) * (Number(found[2]) * 60 + Number(found[3] ?? 0)) * 60_000
  return { name: null, toUtc: (wallMs) => wallMs - offset }
}

interface Observance {
  offset: number
  /** When it began in a year, on the wall; null when it says nothing about that year. */
  onsetIn(year: number): number | null
}

/** The offset of whichever of the calendar's own rules began last. */
function describedZone(zone: Component): Zone | null {
  const observances = [...childrenOf(zone, 'STANDARD'), ...childrenOf(zone, 'DAYLIGHT')].slice(0, 100).flatMap(toObservance)
  if (observances.length === 0) return null
  return {
    name: null,
    toUtc(wallMs) {
      const year = new Date(wallMs).getUTCFullYear()
      let latest: { offset: number; onset: number } | null = null
      for (const { offset, onsetIn } of observances) {
        for (const onset of [onsetIn(year), onsetIn(year - 1)])
          if (onset !== null && onset <= wallMs && (!latest || onset > latest.onset)) latest = { offset, onset }
      }
      return wallMs - (latest ?? (observances[0] as Observance)).offset
    },
  }
}

function toObservance(component: Component): Observance[] {
  const offset = readOffset(firstProperty(component, 'TZOFFSETTO')?.value ?? '')
  const start = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)/.exec(firstProperty(component, 'DTSTART')?.value.trim() ?? '')
  if (offset === null || !start) return []
  const [year, month, day, hour, minute] = start.slice(1).map(Number) as [number, number, number, number, number]
  const first = Date.UTC(year, month - 1, day, hour, minute)
  const rule = firstProperty(component, 'RRULE')?.value.toUpperCase() ?? ''
  const byDay = /BYDAY=([+-]?\d)(SU|MO|TU|WE|TH|FR|SA)/.exec(rule)
  const byMonth = /BYMONTH=(\d{1,2})/.exec(rule)
  if (!byDay || !byMonth) return [{ offset, onsetIn: (wanted) => (wanted >= year ? first : null) }]
  const nth = { month: Number(byMonth[1]), nth: Number(byDay[1]), weekday: weekdays.indexOf(byDay[2] as string) }
  const time = (hour * 60 + minute) * 60_000
  return [{ offset, onsetIn: (wanted) => (wanted >= year ? nthWeekday(wanted, nth) + time : null) }]
}

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']

/** `-1SU` is the last Sunday of the month. */
function nthWeekday(year: number, { month, nth, weekday }: { month: number; nth: number; weekday: number }): number {
  const edge = nth > 0 ? Date.UTC(year, month - 1, 1) : Date.UTC(year, month, 0)
  const away = nth > 0 ? (weekday - new Date(edge).getUTCDay() + 7) % 7 : -((new Date(edge).getUTCDay() - weekday + 7) % 7)
  return edge + (away + (nth > 0 ? nth - 1 : nth + 1) * 7) * dayMs
}

/** `+0530`, `-0800`. */
function readOffset(text: string): number | null {
  const found = /^([+-])(\d\d)(\d\d)/.exec(text.trim())
  return found ? (found[1] === '-' ? -1 : 1) * (Number(found[2]) * 60 + Number(found[3])) * 60_000 : null
}
