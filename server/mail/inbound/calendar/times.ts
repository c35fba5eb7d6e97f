import type { Component, Property } from './components.ts'
import { floating, type Zone, zoneOf } from './zones.ts'

export interface CalendarTime {
  at: Date
  /** What the clock on the wall showed, as if it were UTC. */
  wallMs: number
  zone: Zone
  isDate: boolean
}

const dayMs = 86_400_000

/** RFC 5545 sections 3.3.4 and 3.3.5: a day, a time in UTC, a time in a zone, or a time wherever one is. Null when it is none of them. */
export function readTime({ value, params }: Property, calendar: Component): CalendarTime | null {
  const found = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?$/i.exec(value.trim())
  if (!found) return null
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part) => Number(part ?? 0)) as Six
  // No leap second: 60 is the next minute's 0 (RFC 5545 section 3.3.12), and Date counts on by itself.
  if (year < 1900 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return null
  const wallMs = Date.UTC(year, month - 1, day, hour, minute, second)
  const isDate = found[4] === undefined
  const tzid = params.get('TZID')
  const zone = isDate ? floating : found[7] ? utc : tzid === undefined ? floating : zoneOf(tzid, calendar)
  return { at: new Date(zone.toUtc(wallMs)), wallMs, zone, isDate }
}

type Six = [number, number, number, number, number, number]
const utc: Zone = { name: 'UTC', toUtc: (wallMs) => wallMs }

/** Longer than anybody meets. */
const maxDays = 3_660

/** RFC 5545 section 3.3.6: days and weeks go by on the wall, hours and minutes by the clock. Null when it is no duration. */
export function addDuration({ wallMs, zone }: CalendarTime, text: string): Date | null {
  const found = /^\+?P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$/i.exec(text.trim())
  if (!found) return null
  const [weeks, days, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0)) as [number, number, number, number, number]
  const exactMs = ((hours * 60 + minutes) * 60 + seconds) * 1_000
  if (weeks * 7 + days + exactMs / dayMs > maxDays) return null
  return new Date(zone.toUtc(wallMs + (weeks * 7 + days) * dayMs) + exactMs)
}
