import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { fillPost, readWithPython } from '../../../tests/support/compiled-posts.ts'
import type { PostFrame, PostSource, Recipient } from './index.ts'

interface Fixture {
  post: Partial<PostSource>
  frame?: Partial<PostFrame>
  reader?: Partial<Recipient>
  expected: {
    subject: string
    from: [name: string, address: string]
    to: [name: string, address: string]
    links: string[]
    needs_logic: boolean
    text: string
    /** What the page has in it, in any order. */
    html: string[] | null
  }
}

const fixtures = globSync(join(import.meta.dirname, 'fixtures/*.json'))
  .sort()
  .map((path) => ({ name: basename(path), ...(JSON.parse(readFileSync(path, 'utf8')) as Fixture) }))

const fill = ({ post, frame = {}, reader = {} }: Fixture) => fillPost({ post, frame, reader })

for (const fixture of fixtures) {
  const { name, expected } = fixture
  test(`${name}: postal-mime reads what was meant`, async () => {
    const filled = await fill(fixture)
    const { email } = filled
    assert.equal(email.subject, expected.subject)
    assert.deepEqual([email.from?.name, email.from?.address], expected.from)
    assert.deepEqual([email.to?.[0]?.name, email.to?.[0]?.address], expected.to)
    assert.deepEqual([filled.links, filled.needs_logic], [expected.links, expected.needs_logic])
    assert.equal(email.text?.trimEnd(), expected.text.trimEnd())
    checkPage(email.html, expected.html)
  })
}

test('Python reads the same', async (t) => {
  const filled = await Promise.all(fixtures.map(fill))
  const mails = readWithPython(filled.map(({ raw }) => Buffer.from(raw, 'latin1')))
  if (!mails) return t.skip('there is no python3 on this machine')
  mails.forEach((mail, index) => {
    const { name, expected } = fixtures[index] as (typeof fixtures)[number]
    // A local part in UTF-8 is what RFC 6532 allows and Python counts as a defect.
    const defects = mail.defects.filter((defect) => !(name === 'international-address.json' && defect.startsWith('NonASCIILocalPart')))
    assert.deepEqual(defects, [], name)
    assert.equal(mail.subject, expected.subject)
    assert.deepEqual([mail.from, mail.to], [[expected.from], [expected.to]])
    assert.deepEqual(
      mail.parts.map(({ type, charset }) => [type, charset]),
      (expected.html ? ['text/plain', 'text/html'] : ['text/plain']).map((type) => [type, 'utf-8']),
    )
    assert.equal(mail.parts[0]?.text.replaceAll('\r\n', '\n').trimEnd(), expected.text.trimEnd())
    checkPage(mail.parts[1]?.text, expected.html)
  })
})

function checkPage(page: string | undefined, expected: string[] | null): void {
  assert.equal(page === undefined, expected === null)
  for (const piece of expected ?? []) assert.ok(page?.includes(piece), `${piece} is missing in ${page}`)
}
