import assert from 'node:assert/strict'
import { test } from 'node:test'
import { safeFilename } from './attachments.ts'

const named = (name: string | null, content_type = 'application/pdf') => safeFilename(name, { number: 2, content_type })

test('names are safe to save under', () => {
  const cases: [given: string | null, safe: string][] = [
    ['report.pdf', 'report.pdf'],
    ['Résumé – März 2026.pdf', 'Résumé – März 2026.pdf'],
    ['報告書.pdf', '報告書.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\windows\\system32\\a.dll', 'a.dll'],
    ['C:\\Users\\ann\\a.txt', 'a.txt'],
    ['/absolute', 'absolute'],
    ['folder/', 'folder'],
    ['a/../..', 'attachment-2.pdf'],
    ['.', 'attachment-2.pdf'],
    ['..', 'attachment-2.pdf'],
    ['.htaccess', 'htaccess'],
    ['~/.ssh/config', 'config'],
    ['-rf', 'rf'],
    ['a\u0000.exe\u0000.pdf', 'a.exe.pdf'],
    ['a\r\nSet-Cookie: x.pdf', 'a Set-Cookie_ x.pdf'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['a\u2066b\u2069.txt', 'ab.txt'],
    ['zero\u200bwidth\ufeff.txt', 'zerowidth.txt'],
    ['CON', '_CON'],
    ['con.txt', '_con.txt'],
    ['LPT1.pdf', '_LPT1.pdf'],
    ['console.txt', 'console.txt'],
    ['name. . .', 'name'],
    ['a<b>c:d"e|f?g*h.txt', 'a_b_c_d_e_f_g_h.txt'],
    ['full\uff0fwidth.txt', 'full_width.txt'],
    ['lone\ud800surrogate.txt', 'lone\ufffdsurrogate.txt'],
    ['   ', 'attachment-2.pdf'],
    ['', 'attachment-2.pdf'],
    [null, 'attachment-2.pdf'],
  ]
  for (const [given, safe] of cases) assert.equal(named(given), safe, JSON.stringify(given))
  assert.equal(named(null, 'text/calendar'), 'attachment-2.ics')
  assert.equal(named(null, 'application/x-unknown'), 'attachment-2.bin')
})

test('a long name is cut before its extension, by bytes and not inside a letter', () => {
  const long = named(`${'ü'.repeat(300)}.docx`)
  assert.ok(Buffer.byteLength(long) <= 200)
  assert.match(long, /^ü+\.docx$/)
  assert.ok(Buffer.byteLength(named('😀'.repeat(100))) <= 200)
  assert.ok(named('😀'.repeat(100)).isWellFormed())
  assert.equal(named(`a.${'b'.repeat(300)}`).length, 200)
})
