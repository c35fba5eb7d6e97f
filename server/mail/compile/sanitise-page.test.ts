import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostilePosts } from '../../../tests/support/hostile-posts.ts'
import { threadMs } from '../../base/thread-time.ts'
import { sanitisePage } from './sanitise-page.ts'

const htmlOf = (html: string) => sanitisePage(html).html

test('nothing that runs, frames, asks, loads or leaves its place comes through', () => {
  assert.ok(hostilePosts.length >= 60, `there are ${hostilePosts.length}`)
  for (const html of hostilePosts) {
    const page = sanitisePage(html)
    const text = `${page.html}\n${page.styles.join('')}`
    assert.doesNotMatch(
      text,
      /<\s*\/?\s*(?:script|iframe|frame|object|embed|form|input|button|textarea|select|option|svg|math|style|link|meta|base|template|noscript|video|audio|source|track|portal|dialog|slot|marquee|applet|body|html|head)\b/i,
      html,
    )
    // What is left of a tag as text has its brackets escaped: attributes are looked for within tags alone.
    for (const [tag] of page.html.matchAll(/<[a-z](?:[^>"]|"[^"]*")*>/gi)) {
      const names = tag.replace(/"[^"]*"/g, '""')
      assert.doesNotMatch(names, /\son\w+\s*=/i, html)
      assert.doesNotMatch(
        names,
        /\s(?:style|srcset|srcdoc|action|formaction|ping|background|name|target|contenteditable|autofocus|tabindex|is|slot|popover)\s*=/i,
        html,
      )
      for (const [, address = ''] of tag.matchAll(/(?:href|src)="([^"]*)"/g))
        assert.match(address, /^(?:https:\/\/|http:\/\/|mailto:|tel:|#p-|data:image\/(?:png|jpe?g|gif|webp|avif);base64,)/i, html)
      for (const [, id = ''] of tag.matchAll(/\sid="([^"]*)"/g)) assert.match(id, /^p-/, html)
    }
    assert.doesNotMatch(
      page.styles.join(''),
      /url|expression|import|position|fixed|absolute|z-index|behavior|binding|transform|content|opacity|cursor|float|animation|filter|@|\\|\/\*|</i,
      html,
    )
    for (const rule of page.styles) assert.match(rule, /^\.s\d+\{[^{}]*\}$/, html)
  }
})

test('what people write comes through as it was', () => {
  const kept = [
    '<p>One <strong>two</strong> <em>three</em> <a href="https://example.org/a?b=1&amp;c=2" rel="noopener">four</a></p>',
    '<ul><li>a</li><li>b</li></ul>',
    '<table width="100%"><tbody><tr><td colspan="2">x</td></tr></tbody></table>',
    '<blockquote><p>q</p></blockquote>',
    '<pre><code>if (a &lt; b) { c() }</code></pre>',
    '<details open><summary>more</summary>text</details>',
  ]
  for (const html of kept) assert.equal(htmlOf(html), html)
})

test('a heading of the first rank becomes one of the second: the title is the first', () =>
  assert.equal(htmlOf('<h1>Hi</h1>'), '<h2>Hi</h2>'))

test('styles become classes, the same one for the same words, and only what is harmless', () => {
  const { html, styles, is_coloured } = sanitisePage(
    '<p style="text-align:center;position:fixed">a</p><p style="text-align:center">b</p><p style="margin:-99px;color:red !important">c</p><p style="top:0">d</p>',
  )
  assert.equal(html, '<p class="s0">a</p><p class="s0">b</p><p class="s1">c</p><p>d</p>')
  assert.deepEqual(styles, ['.s0{text-align:center}', '.s1{color:red}'])
  assert.equal(is_coloured, true)
  assert.equal(sanitisePage('<p style="text-align:center">a</p>').is_coloured, false)
})

test('white space in styles is what a browser makes of it: nothing in the sheet changes on the way', () => {
  const stylesOf = (style: string) => sanitisePage(`<p style="${style}">x</p>`).styles
  assert.deepEqual(stylesOf('font-family:Arial,\r\n\tsans-serif;\r\ncolor:\fred'), ['.s0{font-family:Arial, sans-serif;color:red}'])
  assert.deepEqual(stylesOf("font-family:'a\nb';color:red"), [".s0{font-family:'a b';color:red}"])
})

test('no size is immoderate, in whatever unit and notation', () => {
  const isKept = (style: string) => sanitisePage(`<p style="${style}">x</p>`).styles.length > 0
  for (const style of [
    'height:9e5px',
    'font-size:9e9px',
    'font-size:+999px',
    'padding:0 .1e9px',
    'height:9999q',
    'height:99999pc',
    'height:999in',
    'height:500rem',
    'line-height:999',
    'margin:0 -9px',
  ])
    assert.equal(isKept(style), false, style)
  for (const style of [
    'width:100vw',
    'width:600px',
    'color:#1e5e50',
    'color:#9e5',
    'font-weight:700',
    'line-height:1.6',
    'line-height:24px',
    'padding:10px 20.5px',
    'letter-spacing:.05em',
    'margin:0 auto',
    'width:100%',
  ])
    assert.equal(isKept(style), true, style)
  assert.equal(
    htmlOf('<table cellpadding=99999 cellspacing=0 border=0 width=99999><tr><td colspan=2 width="50%">x</td></tr></table>'),
    '<table cellspacing="0" border="0"><tr><td colspan="2" width="50%">x</td></tr></table>',
  )
})

test('what is hidden is not there', () => {
  const page = sanitisePage(
    '<div style="display:none"><p>a</p><img src="https://a.example/1.png"></div><p>b</p><img style="DISPLAY: none" src="https://a.example/2.png"><img src="https://a.example/3.png?a=1&amp;b=2" width=9 height=9><p style="display:none">c',
  )
  assert.doesNotMatch(page.html, /[ac]<|1\.png|2\.png/)
  assert.deepEqual([page.styles, page.image], [[], 'https://a.example/3.png?a=1&b=2'])
})

test('places within the post keep working, under names of their own', () =>
  assert.equal(
    htmlOf('<a href="#fn1">1</a><li id="fn1">x</li><a name="top">t</a><b id="a b">c</b>'),
    '<a href="#p-fn1">1</a><li id="p-fn1">x</li><a id="p-top">t</a><b>c</b>',
  ))

test('pictures have their place before they are there, and nobody is told where they are shown', () => {
  const rest = 'loading="lazy" decoding="async" referrerpolicy="no-referrer" />'
  assert.equal(
    htmlOf('<img src="http://a.example/x.png" width="600" height="400" onload=x>'),
    `<img src="https://a.example/x.png" alt="" width="600" height="400" ${rest}`,
  )
  assert.equal(htmlOf('<img src="//a.example/x.png" alt="A">'), `<img src="https://a.example/x.png" alt="A" class="boxed" ${rest}`)
  assert.equal(
    htmlOf('<img src="https://a.example/x.png" width="32">'),
    `<img src="https://a.example/x.png" alt="" width="32" class="small" ${rest}`,
  )
  for (const none of [
    '<img src="cid:x">',
    '<img src="/x.png">',
    '<img>',
    '<img src="https://t.example/o.gif" width="1" height="1">',
    '<img src="javascript:x">',
  ])
    assert.equal(htmlOf(none), '', none)
  assert.equal(sanitisePage('<img src="https://a.example/1.png"><img src="https://a.example/2.png">').image, 'https://a.example/1.png')
})

test('what is very long, very deep or full of styles takes no long', () => {
  const began = threadMs()
  for (const html of [
    '<b>'.repeat(20_000),
    '<'.repeat(200_000),
    '<p style="'.repeat(20_000),
    `<p style="${'color:red;'.repeat(50_000)}">`,
    '&'.repeat(200_000),
  ])
    sanitisePage(html)
  const many = sanitisePage(Array.from({ length: 2_000 }, (_, index) => `<p style="width:${index % 999}px">`).join(''))
  assert.ok(many.styles.length <= 500)
  // Of this thread, whatever else the machine does meanwhile.
  assert.ok(threadMs() - began < 5_000, `${threadMs() - began} ms`)
})
