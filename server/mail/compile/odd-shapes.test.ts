import assert from 'node:assert/strict'
import { test } from 'node:test'
import { someFrame, somePost, someReader } from '../../../tests/support/compiled-posts.ts'
import { checkTemplates, compilePost, previewOf } from './compile-post.ts'
import { TemplateError } from './index.ts'

/** Each took from seconds to minutes to put together, or overflowed the stack. */
const refused: [what: string, post: object, problem: RegExp][] = [
  ['elements that are never closed', { html: '<b>'.repeat(300_000) }, /^line 1, column 1501: elements are nested more than 500 deep/],
  ['tables in tables', { html: '<table><tr><td>\n'.repeat(60_000) }, /^line 501, column 1: elements are nested/],
  ['elements in Markdown', { markdown: `x\n\n${'<div>'.repeat(1_000)}` }, /^line 3, column 2501: elements are nested/],
  ['quotes in quotes', { markdown: `Hi\n${'>'.repeat(300_000)}a` }, /^line 2, column 1: quotes are nested/],
  ['lists in lists', { markdown: Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth)}- a\n`).join('') }, /a list is nested/],
  ['stars', { markdown: 'a**b'.repeat(200_000) }, /has more than 3,000 marks \(\* _ ~\) in one paragraph/],
  ['stars and underscores', { markdown: `Hi\n\n${'_a*'.repeat(300_000)}` }, /^line 3, column 9000: has more than 3,000 marks/],
]

for (const [what, post, problem] of refused) {
  test(`${what}: refused when saved, previewed and sent`, () => {
    const source = { ...somePost, html: null, ...post }
    for (const act of [() => checkTemplates(source), () => compilePost(source, someFrame), () => previewOf(source, someFrame, someReader)])
      assert.throws(act, (error) => error instanceof TemplateError && problem.test(error.message))
  })
}

/** So did these; they are long and not odd. */
const taken: [what: string, post: object][] = [
  ['a long word before an @', { markdown: `${'a'.repeat(900_000)}@` }],
  ['words of ours', { text: `${Array.from({ length: 60_000 }, (_, number) => `ph${number}n`).join('')}{{ name }}` }],
  ['rows of backticks', { markdown: Array.from({ length: 400 }, (_, length) => `${'`'.repeat(length + 1)}a`).join('') }],
  ['paragraphs that are not closed', { html: '<p>x<br>'.repeat(2_000) }],
  ['lists that are not closed', { html: `<ul>${'<li>x'.repeat(2_000)}</ul>` }],
  ['buttons for Outlook', { html: '<!--[if mso]><v:roundrect><v:fill/><w:anchorlock/><![endif]--><a href="#">x</a>'.repeat(1_000) }],
  ['many short paragraphs with emphasis', { markdown: '*a* **b** _c_ ~~d~~\n\n'.repeat(2_000) }],
]

for (const [what, post] of taken) {
  test(`${what}: taken`, { timeout: 30_000 }, () => {
    const source = { ...somePost, html: null, ...post }
    checkTemplates(source)
    compilePost(source, someFrame).fill(someReader)
  })
}

const markdown = (text: string) => previewOf({ ...somePost, html: null, markdown: text }, someFrame, someReader).html ?? ''

test('bare addresses of the web become links in Markdown, those of people only in <…>', () => {
  const html = markdown('See https://a.test/x_y, www.b.test and ftp://c.test, xwww.d.test; write to ann@example.com or <bob@example.com>.')
  assert.deepEqual(
    [...html.matchAll(/<p>.*<\/p>/g)].map(([line]) => line),
    [
      '<p>See <a href="https://a.test/x_y">https://a.test/x_y</a>, <a href="http://www.b.test">www.b.test</a> and <a href="ftp://c.test">ftp://c.test</a>, xwww.d.test; write to ann@example.com or <a href="mailto:bob@example.com">bob@example.com</a>.</p>',
    ],
  )
})

test('Markdown’s own marks still mean what they mean', () => {
  const html = markdown('a *b* snake_case_word __c__ `d*e*` ~~f~~ \\*g\\* h & i &amp; <b>j</b> ![k](https://a.test/k.png) two  \nlines')
  assert.match(
    html,
    /<p>a <em>b<\/em> snake_case_word <strong>c<\/strong> <code>d\*e\*<\/code> <del>f<\/del> \*g\* h &amp; i &amp; <b>j<\/b> <img src="https:\/\/a\.test\/k\.png" alt="k"[^>]*> two<br>lines<\/p>/,
  )
})
