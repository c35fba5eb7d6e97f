import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHtml } from './html-document.ts'

test('blocks become lines, cells become words, and what nobody sees is left out', () => {
  const html = `<html><head><title>No</title><STYLE>p { color: #123456 }</STYLE></head><body><!-- 1234 --><h1>Hello&nbsp;Zo&euml;</h1>
    <p>One<br>two</p><div>three</div><table><tr><td>4</td><td>5</td></tr></table><script>6</script></body></html>`
  assert.equal(readHtml(html).text, 'Hello Zoë\n\nOne\ntwo\n\nthree\n\n4 5')
})

test('large, spaced and bold type is marked', () => {
  const levels = (html: string) => readHtml(html).marks.map(({ level }) => level)
  assert.deepEqual(levels('<p>1</p>'), [])
  for (const style of ['font-size:32px', 'font-size: 2em', 'font-size:18pt', 'letter-spacing:4px', 'FONT-SIZE:200%'])
    assert.deepEqual(levels(`<p style="${style}">1</p>`), [2], style)
  for (const html of [
    '<b>1</b>',
    '<strong>1</strong>',
    '<code>1</code>',
    '<p style="font-weight:700">1</p>',
    '<p style="font-size:18px">1</p>',
  ])
    assert.deepEqual(levels(html), [1], html)
  assert.deepEqual(readHtml('a <b>12</b> <b>34</b> <h1>56</h1>').marks, [
    { start: 2, end: 7, level: 1 },
    { start: 9, end: 11, level: 2 },
  ])
})

test('links keep their address and the place of their words', () => {
  const { text, links } = readHtml(
    `<p>Go <a class=x href='https://a.example/?b=1&amp;c=2'>to <b>it</b></a> or <a href=https://b.example><img alt="there"></a></p>`,
  )
  assert.deepEqual(
    links.map(({ url, start, end }) => [url, text.slice(start, end)]),
    [
      ['https://a.example/?b=1&c=2', 'to it'],
      ['https://b.example', 'there'],
    ],
  )
})

test('broken markup is read as far as it can be', () => {
  for (const [html, text] of [
    ['1 < 2', '1 2'],
    ['<p>a', 'a'],
    ['a</p></p></b>b', 'a\n\nb'],
    ['<a href="https://a.example>x', 'x'],
    ['a <', 'a'],
    ['<>a', '>a'],
    ['&bogus; &#0; &#x41;', '&bogus; A'],
  ] as const)
    assert.equal(readHtml(html).text, text, html)
})
