import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readCalendar } from './read-calendar.ts'

const folder = join(import.meta.dirname, 'calendar/fixtures')
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

for (const file of readdirSync(folder).filter((name) => name.endsWith('.ics'))) {
  test(`${file} says what its json says, with either kind of line ends`, () => {
    const text = readFileSync(join(folder, file), 'utf8')
    const expected = JSON.parse(readFileSync(join(folder, file.replace(/ics$/, 'json')), 'utf8'))
    assert.deepEqual(plain(readCalendar(text)), expected)
    assert.deepEqual(plain(readCalendar(text.replaceAll('\n', '\r\n'))), expected)
  })
}

const calendar = (...lines: string[]) => ['BEGIN:VCALENDAR', ...lines, 'END:VCALENDAR'].join('\r\n')
const eventWith = (...lines: string[]) => calendar('BEGIN:VEVENT', 'UID:1', ...lines, 'END:VEVENT')
const only = (text: string) => readCalendar(text)[0]?.events[0]

test('times in zones, at the edges of summer', () => {
  const cases: [string, string, string | null][] = [
    ['TZID=Europe/Berlin:20270328T013000', '2027-03-28T00:30:00.000Z', 'Europe/Berlin'],
    // Does not exist: the hour after 02:00 is skipped, and the offset before it counts.
    ['TZID=Europe/Berlin:20270328T023000', '2027-03-28T01:30:00.000Z', 'Europe/Berlin'],
    // Comes twice: the first.
    ['TZID=Europe/Berlin:20271031T023000', '2027-10-31T00:30:00.000Z', 'Europe/Berlin'],
    ['TZID=Pacific Standard Time:20270101T000000', '2027-01-01T08:00:00.000Z', 'America/Los_Angeles'],
    ['TZID="(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi":20270101T053000', '2027-01-01T00:00:00.000Z', null],
    [
      'TZID=/freeassociation.sourceforge.net/Tzfile/America/Argentina/Ushuaia:20270101T000000',
      '2027-01-01T03:00:00.000Z',
      'America/Argentina/Ushuaia',
    ],
    ['TZID=Nowhere/Known:20270101T000000', '2027-01-01T00:00:00.000Z', null],
    ['X-A=b:20270101T000000', '2027-01-01T00:00:00.000Z', null],
    ['TZID=UTC:20270101T000000', '2027-01-01T00:00:00.000Z', 'UTC'],
    ['VALUE=DATE-TIME:20270101T000000Z', '2027-01-01T00:00:00.000Z', 'UTC'],
  ]
  for (const [written, at, timezone] of cases) {
    const event = only(eventWith(`DTSTART;${written}`))
    assert.deepEqual([event?.starts_at?.toISOString(), event?.timezone], [at, timezone], written)
  }
})

test('ends', () => {
  const cases: [string[], string | undefined][] = [
    [['DTSTART:20270101T100000Z'], '2027-01-01T10:00:00.000Z'],
    [['DTSTART;VALUE=DATE:20270101'], '2027-01-02T00:00:00.000Z'],
    [['DTSTART;VALUE=DATE:20270101', 'DURATION:P1W'], '2027-01-08T00:00:00.000Z'],
    // A day is a day on the wall, also when it has 23 hours.
    [['DTSTART;TZID=Europe/Berlin:20270327T120000', 'DURATION:P1D'], '2027-03-28T10:00:00.000Z'],
    [['DTSTART;TZID=Europe/Berlin:20270327T120000', 'DURATION:PT24H'], '2027-03-28T11:00:00.000Z'],
    [['DTSTART:20270101T100000Z', 'DTEND:20260101T100000Z'], '2027-01-01T10:00:00.000Z'],
    [['DTSTART:20270101T100000Z', 'DURATION:P99999D'], '2027-01-01T10:00:00.000Z'],
    [['DTSTART:20270101T100000Z', 'DURATION:soon'], '2027-01-01T10:00:00.000Z'],
  ]
  for (const [lines, end] of cases) assert.equal(only(eventWith(...lines))?.ends_at?.toISOString(), end, lines.join(' '))
})

test('a UID that no index has room for is nobody’s', () => {
  const withUid = (uid: string) => eventWith('DTSTART:20270101T100000Z').replace('UID:1', `UID:${uid}`)
  assert.equal(only(withUid('u'.repeat(1_000)))?.uid.length, 1_000)
  assert.equal(only(withUid('会'.repeat(333)))?.uid.length, 333)
  for (const uid of ['u'.repeat(1_001), '会'.repeat(334)]) assert.equal(only(withUid(uid)), undefined)
})

test('what is no calendar is none, and what is broken is read as far as it goes', () => {
  for (const text of ['', 'Hello', 'BEGIN:VEVENT\nUID:1\nDTSTART:20270101T000000Z', '\0\0', 'BEGIN:VCALENDAR']) {
    assert.deepEqual(
      readCalendar(text).flatMap(({ events }) => events),
      [],
      text,
    )
  }
  const cutOff = only('BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20270101T000000Z\nSUMMARY:Cut o')
  assert.equal(cutOff?.title, 'Cut o')
  const nested = only(
    calendar('BEGIN:VEVENT', 'UID:1', 'BEGIN:VALARM', 'SUMMARY:No', 'END:VEVENT', 'SUMMARY:No').replace(
      'UID:1',
      'UID:1\nDTSTART:20270101T000000Z',
    ),
  )
  assert.equal(nested?.title, '(no title)')
})

test('bombs do no harm', () => {
  const start = 'DTSTART:20270101T000000Z'
  const attendees = Array.from({ length: 2_000 }, (_, n) => `ATTENDEE:mailto:a${n}@example.org`)
  assert.equal(only(eventWith(start, ...attendees))?.attendees.length, 500)
  const many = Array.from({ length: 500 }, (_, n) => `BEGIN:VEVENT\nUID:${n}\n${start}\nEND:VEVENT`)
  assert.equal(readCalendar(calendar(...many))[0]?.events.length, 100)
  assert.deepEqual(readCalendar(calendar('BEGIN:VEVENT\n'.repeat(50))), [])
  assert.deepEqual(readCalendar(calendar('X:y\n'.repeat(30_000))), [])
  assert.deepEqual(readCalendar(eventWith(start, `SUMMARY:${'x'.repeat(1_100_000)}`)), [])
  assert.equal(only(eventWith(start, `SUMMARY:${'🚂'.repeat(10_000)}`))?.title.length, 1_000)
  assert.equal(only(eventWith(start, `DESCRIPTION:${'a\\n'.repeat(100_000)}`))?.description?.length, 20_000)
  assert.equal(only(eventWith(start, `X-A${';A="'.repeat(100_000)}:1`, 'SUMMARY:After'))?.title, 'After')
  assert.equal(only(calendar('BEGIN:VEVENT', `UID:${'u'.repeat(1_001)}`, start, 'END:VEVENT')), undefined)
  assert.equal(only(eventWith('DTSTART;TZID=__proto__:20270101T000000', 'SEQUENCE:99999999999999'))?.sequence, 0)
})
