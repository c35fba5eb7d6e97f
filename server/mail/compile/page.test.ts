import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageOf } from './page.ts'
import type { PostSource } from './post-source.ts'

const fixed = { list_name: 'Kitchen', postal_address: '1 High Street' }
const shown = (post: Partial<PostSource>) =>
  pageOf({ subject: 'Hello', preview_text: null, html: null, text: null, markdown: null, ...post }, fixed)

test('titles, previews, excerpts and what is searched say what the page says, and nothing that it hides', () => {
  const forSome = (words: string, others = '') => `{% if contact.plan == 'paid' %}${words}{% else %}${others}{% endif %}`
  const page = shown({
    subject: forSome('Secret subject', 'Open subject'),
    preview_text: `${forSome('For VIPs only')} Hi {{ name | default: "friend" }}`,
    html: `<p>${forSome('The code is SECRET42.', 'Subscribe to read.')}</p>`,
  })
  assert.deepEqual([page.title, page.preview, page.excerpt, page.text], ['Open subject', 'Hi friend', 'Hi friend', 'Subscribe to read.'])
  assert.equal(page.html, '<p>Subscribe to read.</p>')
  assert.equal(shown({ html: `<p>${forSome('SECRET', 'Open')}</p>` }).excerpt, 'Open')
})

test('an excerpt is how the page begins, as people read it', () => {
  const begins: [Partial<PostSource>, string][] = [
    [{ html: '<!-- <p>Fire Bob</p> --><!--[if mso]><p>Outlook</p><![endif]--><p>Words</p>' }, 'Words'],
    [{ html: '<style>.hero{color:purple}</style><div class="hero">Words</div>' }, 'Words'],
    [{ html: '<div style="display:none;font-size:1px">Preheader <b>here</b></div><p>Words</p>' }, 'Words'],
    [{ html: '<style>.pre{display:none}</style><p class="pre">Preheader</p><p>Words</p>' }, 'Words'],
    [{ html: '<p>It&rsquo;s caf&eacute; &mdash; &#8220;ok&#8221; &lt;b&gt;</p>' }, 'It’s café — “ok” <b>'],
    [{ html: '<p>b<em>old</em></p><p>two</p>&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;' }, 'bold two'],
    [{ html: '<h1>Heading</h1><p>Words</p>' }, 'Words'],
    [{ html: '<h1>Heading alone</h1>' }, 'Heading alone'],
    [{ html: '<p>From HTML</p>', text: 'From text' }, 'From HTML'],
    [{ markdown: '# Hello\n\nThe *first* of [many](https://example.org) `a < b`.' }, 'The first of many a < b.'],
    [{ text: 'Plain <b> & simple' }, 'Plain <b> & simple'],
    [{ html: '<p>{{ "a\\u0000b" }}{{ name }}</p>' }, 'a b'],
    [{ html: '', preview_text: ' {{ name }} ' }, ''],
  ]
  for (const [post, words] of begins) assert.equal(shown(post).excerpt, words, JSON.stringify(post))
  const long = shown({ html: `<p>${'Some words. '.repeat(100)}</p>` }).excerpt
  assert.match(long, /^Some words\. .*\. Some …$/)
  assert.ok(long.length <= 222)
  assert.equal(shown({ html: `<p>${'a'.repeat(219)}😀😀</p>` }).excerpt, `${'a'.repeat(219)} …`)
})

test('what is searched has an end, and reading time counts all', () => {
  const page = shown({ html: '<p>word</p>'.repeat(20_000) })
  assert.deepEqual([page.text.length, page.words], [50_000, 20_000])
})

test('a title loses no more than the name that is missing', () => {
  const titles: [string, string][] = [
    ['Hello', 'Hello'],
    ['{{ first_name }}, your week', 'Your week'],
    ['{{ list_name }} 12', 'Kitchen 12'],
    ['{% if name %}Hi {{ name }}{% else %}Hi{% endif %} there', 'Hi there'],
    ['{% comment %}draft 3{% endcomment %}News', 'News'],
    ['{{ name }}', ''],
  ]
  for (const [subject, title] of titles) assert.equal(shown({ subject, html: 'x' }).title, title, subject)
})
