/** Makes bad mail out of good, the same from the same seed. */

export type Random = (below: number) => number

/** Small and fast; its quality is good enough to choose bytes. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** Larger ones are the business of the limits, which have tests of their own. */
const maxBytes = 400_000

type Mutation = (mail: Buffer, random: Random, corpus: Buffer[]) => Buffer

const place = (mail: Buffer, random: Random) => random(mail.length + 1)
const insert = (mail: Buffer, at: number, piece: Buffer | string) =>
  Buffer.concat([mail.subarray(0, at), Buffer.from(piece), mail.subarray(at)])
const pick = <Thing>(things: readonly Thing[], random: Random): Thing => things[random(things.length)] as Thing
/** Mostly few, sometimes very many. */
const often = (random: Random) => pick([1, 2, 3, 10, 100, 1_000, 20_000], random)

const tokens = [
  ...[
    '(',
    ')',
    '<',
    '>',
    '"',
    '\\',
    ';',
    ':',
    ',',
    '@',
    '=',
    '?',
    '[',
    '&',
    ' ',
    '\t',
    '\0',
    '\r',
    '\n',
    '\r\n',
    '\r\n\r\n',
    '--',
    '.',
    '>',
    '> ',
  ],
  ...[
    '=?utf-8?B?',
    '=?utf-8?Q?=C3',
    '?=',
    '=?x?y?z?=',
    '=\r\n',
    '=C3=',
    '%E2%80',
    "*0*=utf-8''",
    '&#x0;',
    '&amp;',
    '\ufeff',
    '\u202e',
    '\ud83d\ude00',
  ],
  ...['<div>', '<table><tr><td>', '</p>', '<!--', '<style>', '<a href="', '<blockquote>', '<script>', '<b'],
  ...[
    'BEGIN:VCALENDAR\r\n',
    'BEGIN:VEVENT\r\n',
    'RRULE:FREQ=SECONDLY\r\n',
    'DTSTART;TZID=',
    'On Mon wrote:\r\n> ',
    'From: a@b.c\r\nSent: x\r\nTo: y\r\n',
  ],
  ...['Your code is 123456 ', 'https://example.org/verify?token=', '一', 'code '],
]
const fields = [
  ...[
    'Content-Type: multipart/mixed; boundary=',
    'Content-Type: text/html; charset=',
    'Content-Type: message/rfc822',
    'Content-Type: multipart/digest; boundary=x',
  ],
  ...[
    'Content-Transfer-Encoding: base64',
    'Content-Transfer-Encoding: quoted-printable',
    'Content-Transfer-Encoding: x-uuencode',
    'Content-Disposition: attachment; filename=',
  ],
  ...['From: ', 'To: a@b.c, ', 'Subject: ', 'References: <a@b.c>', 'Date: ', 'Received: from a by b', 'X-Long: a'],
]
const charsets = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'utf-7',
  'iso-2022-jp',
  'gb18030',
  'big5',
  'shift_jis',
  'euc-kr',
  'koi8-r',
  'windows-1252',
  'x-none',
  '',
  '"',
]

const mutations: Mutation[] = [
  function flipBits(mail, random) {
    const changed = Buffer.from(mail)
    for (let count = often(random); count > 0 && changed.length > 0; count--) {
      const at = random(changed.length)
      changed[at] = (changed[at] as number) ^ (1 << random(8))
    }
    return changed
  },
  (mail, random) => mail.subarray(0, place(mail, random)),
  (mail, random) => mail.subarray(place(mail, random)),
  function repeat(mail, random) {
    const start = place(mail, random)
    const piece = mail.subarray(start, start + 1 + random(200))
    return insert(mail, place(mail, random), Buffer.concat(Array<Buffer>(Math.min(often(random), 2_000)).fill(piece)))
  },
  function splice(mail, random, corpus) {
    const other = pick(corpus, random)
    return Buffer.concat([mail.subarray(0, place(mail, random)), other.subarray(place(other, random))])
  },
  (mail, random) => insert(mail, place(mail, random), pick(tokens, random).repeat(often(random))),
  function addFields(mail, random) {
    const value = pick([...tokens, ...charsets], random).repeat(Math.min(often(random), 1_000))
    const field = `${pick(fields, random)}${value}\r\n`
    // At the top, or at the beginning of any line.
    const line = mail.indexOf('\n', place(mail, random))
    return insert(mail, random(2) === 0 ? 0 : line + 1, field.repeat(Math.min(often(random), 1_000)))
  },
  function playWithBoundaries(mail, random) {
    const boundaries = [...mail.toString('latin1').matchAll(/boundary="?([^\s";]+)/gi)].map((match) => match[1] as string)
    const boundary = boundaries.length > 0 ? pick(boundaries, random) : 'b'
    const line = `\r\n--${boundary}${pick(['', '--', ' ', '-', '\t--', 'x'], random)}\r\n${pick(['', '\r\n', 'Content-Type: text/plain\r\n\r\n', `Content-Type: multipart/mixed; boundary=${boundary}\r\n\r\n`, 'Content-Type: message/rfc822\r\n\r\n'], random)}`
    return insert(mail, place(mail, random), line.repeat(Math.min(often(random), 1_000)))
  },
  function nest(mail, random) {
    let nested = mail
    for (let level = random(40); level >= 0; level--)
      nested = Buffer.concat([
        Buffer.from(`Content-Type: multipart/mixed; boundary=n${level}\r\n\r\n--n${level}\r\n`),
        nested,
        Buffer.from(`\r\n--n${level}--\r\n`),
      ])
    return nested
  },
  (mail, random) => Buffer.from(mail.toString('latin1').replace(/charset="?[\w-]*/gi, `charset=${pick(charsets, random)}`), 'latin1'),
  (mail, random) =>
    Buffer.from(mail.toString('latin1').replaceAll('\r\n', pick(['\n', '\r', '\n\r', '\r\n\r\n', ' \r\n '], random)), 'latin1'),
  (mail, random) =>
    Buffer.from(
      mail.toString('latin1').replace(/base64|quoted-printable|7bit|8bit/gi, pick(['base64', 'quoted-printable', '8bit', 'uu'], random)),
      'latin1',
    ),
]

export function mutateMail(corpus: Buffer[], seed: number): Buffer {
  const random = createRandom(seed)
  let mail = pick(corpus, random)
  for (let count = 1 + random(6); count > 0; count--) mail = pick(mutations, random)(mail, random, corpus).subarray(0, maxBytes)
  return mail
}
