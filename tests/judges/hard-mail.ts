/** What people and programs have put into names, subjects and bodies, to break mail or by accident. */
export interface HardName {
  email: string
  /** As it stands in the database. */
  name: string
  /** As it stands in a subject. */
  inSubject: string
  /** As the display name beside the address. */
  shown: string
  /** The address as it is in the header. */
  address?: string
}

const same = (email: string, name: string): HardName => ({ email, name, inSubject: name, shown: name })

export const hardNames: HardName[] = [
  same('plain@example.org', 'Ann Lee'),
  same('quotes@example.org', 'Ann "The Fox" Lee, Jr. \\ (home) <ann@evil.example>'),
  same('comma@example.org', 'Lee, Ann; Bob: Co'),
  same('emoji@example.org', '🦊👩‍👩‍👧‍👦🇩🇪 Füchsin'),
  same('rtl@example.org', 'שלום "עולם", مرحبا'),
  same('word@example.org', '=?utf-8?q?Bcc=3A_evil=40evil.example?='),
  same('leser@bücher.example', 'Leser'),
  same('grüße@example.org', 'Grüße'),
  { ...same('bidi@example.org', '\u202egnp.exe\u2066'), shown: '\u202egnp.exe\u2066' },
  {
    email: 'break@example.org',
    name: 'Ann\r\nBcc: evil@evil.example\r\n\r\n<p>body</p>\n.\nQUIT',
    inSubject: 'Ann Bcc: evil@evil.example <p>body</p> . QUIT',
    shown: 'Ann Bcc: evil@evil.example <p>body</p> . QUIT',
  },
  { email: 'tabs@example.org', name: 'Ann\t\u0085\u2028Lee\u001b[0m', inSubject: 'Ann Lee [0m', shown: 'Ann Lee [0m' },
  { email: 'long@example.org', name: 'x'.repeat(10_000), inSubject: 'x'.repeat(10_000), shown: 'x'.repeat(256) },
  {
    email: 'words@example.org',
    name: 'ab '.repeat(3_333).trim(),
    inSubject: 'ab '.repeat(3_333).trim(),
    shown: 'ab '.repeat(86).slice(0, 256).trim(),
  },
  { email: 'longest@example.org', name: '🦊'.repeat(10_000), inSubject: '🦊'.repeat(10_000), shown: '🦊'.repeat(256) },
].map((person) => ({ ...person, address: person.email.replace('bücher', 'xn--bcher-kva') }))

/** What a body must not lose: lines longer than mail allows, dots at their beginning, every script, letters of four bytes. */
export const hardLines = [
  `${'long'.repeat(1_500)}end`,
  '.',
  '..two dots',
  '. QUIT',
  'From the start of a line',
  '=?utf-8?q?no_word?= =3D =',
  'ümläut 🦊 שלום مرحبا',
  'trailing space ',
  '--not-a-boundary--',
]

export interface HardPost {
  what: string
  /** `{{ name }}` is the reader's. */
  subject: string
  body_html?: string
  body_text?: string
  listName: string
  /** What the HTML part must still have. */
  htmlLines?: string[]
}

export const hardPosts: HardPost[] = [
  { what: 'plain', subject: 'Hello {{ name }}', body_text: hardLines.join('\n'), listName: 'News' },
  {
    what: 'emoji, long lines, both bodies',
    subject: `${'🦊'.repeat(40)} {{ name }} ${'👩‍👩‍👧‍👦'.repeat(20)}`,
    body_html: hardLines.map((line) => `<p>${line}</p>`).join('\n'),
    body_text: hardLines.join('\r\n'),
    listName: 'Füchse, "Bären" & Co 🦊',
    htmlLines: hardLines,
  },
  {
    what: 'right to left, HTML alone',
    subject: 'עדכון {{ name }} تحديث',
    body_html: `<p dir="rtl">שלום {{ name }}</p>${'<b>x</b>'.repeat(2_000)}`,
    listName: 'שלום, "עולם" <x@evil.example>',
    htmlLines: ['<b>x</b>'.repeat(2_000)],
  },
]

export const hardSubjects = [
  'Plain',
  '🦊'.repeat(200),
  'עדכון "שבועי", تحديث',
  '=?utf-8?q?Bcc=3A_evil=40evil.example?=',
  'x'.repeat(998),
  'ab '.repeat(332).trim(),
  'Two  spaces   and a "quote", a comma; a colon: <x@evil.example>',
  '\u202egnp.exe\u2066 bidi',
  `${'long'.repeat(200)} then words`,
  '1 < 2 & "x" \\ =',
]
