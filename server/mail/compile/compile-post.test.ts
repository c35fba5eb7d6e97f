import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillPost, someFrame, somePost, someReader } from '../../../tests/support/compiled-posts.ts'
import { compilePost, previewOf } from './compile-post.ts'

const unsubscribe = 'https://posthaste.test/u/tok3n'
const preferences = 'https://posthaste.test/preferences/tok3n'
const count = (text: string | undefined, what: string) => (text ?? '').split(what).length - 1

test('the way out is added to both parts when the author left it out, and the postal address with it', async () => {
  const { email } = await fillPost({ frame: { postal_address: '1 Main <Street>\nTown' } })
  assert.equal(count(email.html, `href="${unsubscribe}"`), 1)
  assert.equal(count(email.text, unsubscribe), 1)
  assert.match(
    email.html ?? '',
    new RegExp(`<a href="${unsubscribe}"[^>]*>Unsubscribe</a> · <a href="${preferences}"[^>]*>Preferences</a>`),
  )
  assert.match(email.text ?? '', new RegExp(`Unsubscribe: ${unsubscribe}\nPreferences: ${preferences}\n`))
  assert.match(email.html ?? '', /1 Main &lt;Street&gt;<br>Town/)
  assert.match(email.text ?? '', /1 Main <Street>\nTown/)
  assert.ok((email.html ?? '').indexOf(unsubscribe) < (email.html ?? '').indexOf('</body>'))
})

test('an author’s own unsubscribe link and postal address are enough', async () => {
  const { email } = await fillPost({
    post: { html: '<p>Hi</p><p><a href="{{ unsubscribe_url }}">Leave</a> {{ postal_address }}</p>' },
    frame: { postal_address: '1 Main Street' },
  })
  assert.equal(count(email.html, unsubscribe), 1)
  assert.equal(count(email.text, unsubscribe), 1)
  assert.equal(count(email.html, '1 Main Street'), 1)
  assert.equal(count(email.text, '1 Main Street'), 1)
  assert.equal(count(email.html, preferences) + count(email.text, preferences), 0, 'whoever writes their own footer says what is in it')
})

test('preferences have one link, the author’s where there is one, and count as no click', async () => {
  for (const html of ['<a href="{{ preferences_url }}">Choose</a>', '{% if name %}{% endif %}<a href="{{ preferences_url }}">Choose</a>']) {
    const { email, links } = await fillPost({ post: { html }, frame: { track_clicks: true } })
    assert.deepEqual([count(email.html, `href="${preferences}"`), count(email.html, `href="${unsubscribe}"`), links], [1, 1, []])
  }
})

test('a frame that was kept before there were preferences leads to the page that has a link to them', async () => {
  const { preferences: _, ...urls } = someFrame.urls
  const { email } = await fillPost({ frame: { urls } })
  assert.deepEqual([count(email.html, `href="${unsubscribe}"`), count(email.html, preferences)], [2, 0])
})

for (const hidden of [
  '<!-- {{ unsubscribe_url }} -->',
  '{% if name == "nobody" %}{{ unsubscribe_url }}{% endif %}',
  '<style>a { color: red } /* {{ unsubscribe_url }} */</style>',
  '{% comment %}{{ unsubscribe_url }}{% endcomment %}',
  '{% raw %}{{ unsubscribe_url }}{% endraw %}',
]) {
  test(`${hidden} does not pass for a visible way out`, async () => {
    const { email } = await fillPost({ post: { html: `<p>Hi</p>${hidden}` } })
    assert.equal(count(email.html, `<a href="${unsubscribe}"`), 1)
    assert.match(email.text ?? '', new RegExp(`Unsubscribe: ${unsubscribe}`))
  })
}

const links = `<p><a href="https://a.test/?x=1&amp;y=2">one</a> <A HREF='https://b.test/'>two</A> <a class=x href=https://c.test/3>three</a>
<a href="https://a.test/?x=1&amp;y=2">again</a> <a href="mailto:a@b.test">mail</a> <a href="tel:+123">call</a> <a href="#top">top</a>
<a href="{{ unsubscribe_url }}">leave</a> <a href="https://d.test/?u={{ email }}">mine</a> <a href="/relative">rel</a> <a>none</a>
<a href="javascript:alert(1)">js</a> <a href="https://posthaste.test/u/abc">out</a> <a data-href="https://no.test/">data</a>
<!-- <a href="https://comment.test/">no</a> --><style>a[href="https://style.test"]{}</style><img src="https://img.test/x.png">
<a title="a > b" href="  HTTPS://E.test/  ">e</a> <area href="https://f.test/">https://text.test/</p>`

test('links are collected once each, in order, and left as they are where clicks are not counted', async () => {
  const filled = await fillPost({ post: { html: links } })
  assert.deepEqual(filled.links, ['https://a.test/?x=1&y=2', 'https://b.test/', 'https://c.test/3', 'HTTPS://E.test/', 'https://f.test/'])
  assert.equal(count(filled.email.html, 'posthaste.test/c/'), 0)
  assert.equal(count(filled.email.html, 'https://a.test/?x=1&amp;y=2'), 2)
})

test('counted links lead through the click URL; mailto, tel, anchors, personal links and the way out do not', async () => {
  const { email } = await fillPost({ post: { html: links }, frame: { track_clicks: true } })
  const hrefs = [...(email.html ?? '').matchAll(/\shref="?'?([^"'>\s]*)/gi)].map((match) => match[1])
  const click = (n: number) => `https://posthaste.test/c/tok3n/${n}`
  assert.deepEqual(hrefs, [
    ...[click(0), click(1), click(2), click(0), 'mailto:a@b.test', 'tel:+123', '#top', unsubscribe, 'https://d.test/?u=bob@example.org'],
    ...['/relative', 'javascript:alert(1)', 'https://posthaste.test/u/abc', 'https://comment.test/', click(3), click(4)],
  ])
  assert.match(email.text ?? '', /one <https:\/\/a\.test\/\?x=1&y=2>/, 'the text part shows where links lead')
  assert.match(email.html ?? '', />https:\/\/text\.test\//)
})

test('a post of text alone has its links counted in the text', async () => {
  const post = { html: null, text: 'See https://a.test/x. Or (https://b.test/?q=1), https://c.test/{{ name }} and {{ unsubscribe_url }}' }
  const on = await fillPost({ post, frame: { track_clicks: true } })
  assert.deepEqual(on.links, ['https://a.test/x', 'https://b.test/?q=1'])
  assert.match(
    on.email.text ?? '',
    /See https:\/\/posthaste\.test\/c\/tok3n\/0\. Or \(https:\/\/posthaste\.test\/c\/tok3n\/1\), https:\/\/c\.test\/Bob and/,
  )
  const off = await fillPost({ post })
  assert.match(off.email.text ?? '', /See https:\/\/a\.test\/x\. Or/)
})

test('the open pixel is there only where opens are counted', async () => {
  const pixel = 'https://posthaste.test/o/tok3n.gif'
  assert.equal(count((await fillPost({})).email.html, pixel), 0)
  const { email } = await fillPost({ frame: { track_opens: true } })
  assert.equal(count(email.html, pixel), 1)
  assert.equal(count(email.text, pixel), 0)
  const text = await fillPost({ post: { html: null, text: 'x' }, frame: { track_opens: true } })
  assert.equal(count(text.raw, 'gif'), 0)
})

test('the preview text comes first in the HTML, hidden and escaped, and not in the text', async () => {
  const { email } = await fillPost({
    post: {
      preview_text: 'Hi {{ name }} <you> & {{ missing | default: "me" }}',
      html: '<html><body class="a>b"><p>Body</p></body></html>',
    },
    reader: { name: '<Bob>' },
  })
  assert.match(email.html ?? '', /<body class="a>b">\s*<div style="display:none;[^"]*">Hi &lt;Bob&gt; &lt;you&gt; &amp; me&#847;/)
  assert.doesNotMatch(email.text ?? '', /Hi/)
})

test('Markdown becomes HTML and text; merge tags and logic in it come through', async () => {
  const markdown = `# Hello {{ name | default: "friend" }}

A *word* with {{ contact.a_b_c }} and [a link](https://a.test/?x=1&y=2).

{% for city in contact.cities %}
- {{ city | upcase }}
{% endfor %}
<b class="raw">kept</b> {% if name > "A" %}yes{% endif %}

\`\`\`
code {{ name }}
\`\`\`
`
  const { email, links: found } = await fillPost({
    post: { html: null, markdown },
    reader: { values: { contact: { a_b_c: '_x_', cities: ['Bern', 'Köln'] } } },
  })
  const page = email.html ?? ''
  assert.match(page, /<h1>Hello Bob<\/h1>/)
  assert.match(page, /A <em>word<\/em> with _x_ and <a href="https:\/\/a\.test\/\?x=1&amp;y=2">a link<\/a>/)
  assert.match(page, /<ul>\s*<li>BERN<\/li>\s*<\/ul>\s*<ul>\s*<li>KÖLN<\/li>\s*<\/ul>/)
  assert.match(page, /<b class="raw">kept<\/b> yes/)
  assert.match(page, /code Bob/)
  assert.deepEqual(found, ['https://a.test/?x=1&y=2'])
  assert.match(email.text ?? '', /^Hello Bob\n\nA word with _x_ and a link <https:\/\/a\.test\/\?x=1&y=2>\./)
})

test('CSS is inlined; media queries stay; nothing is loaded', async () => {
  const html = `<html><head><link rel="stylesheet" href="file:///etc/passwd"><link rel="stylesheet" href="http://127.0.0.1:9/x.css">
<style>@import url("file:///etc/passwd"); p { color: red } .{{ missing }}x { top: 0 } @media (max-width: 9px) { p { color: blue } } a:hover { color: green }</style></head>
<body><p {% if name %}class="a"{% endif %}>{{ name }}</p></body></html>`
  const { email } = await fillPost({ post: { html } })
  assert.match(email.html ?? '', /<p[^>]*style="color: red;?"[^>]*>Bob<\/p>/)
  assert.match(email.html ?? '', /class="a"/)
  assert.match(email.html ?? '', /@media \(max-width: 9px\)/)
  assert.match(email.html ?? '', /a:hover/)
  assert.doesNotMatch(email.html ?? '', /root:/)
})

test('a sheet with logic in it is left as it was written', async () => {
  const style = '<style>{% if name %}p { color: red }{% else %}p { color: blue }{% endif %}</style>'
  const { email } = await fillPost({ post: { html: `${style}<p>x</p>` } })
  assert.match(email.html ?? '', /color: red/)
  assert.doesNotMatch(email.html ?? '', /\{%/)
})

test('an author’s text part is sent as written, beside the HTML', async () => {
  const { email } = await fillPost({ post: { text: 'Plain words for {{ name }}\n.\n' } })
  assert.match(email.text ?? '', /^Plain words for Bob\n\.\n/)
  assert.match(email.html ?? '', /<p>Hello<\/p>/)
})

test('what looks like a tag after decoding, and what is raw, stays text', async () => {
  const html = '<p>&#123;&#123; name }} {% raw %}{{ name }} {% if %}{% endraw %} ph0n0z {{ name | upcase }}</p>'
  const { email } = await fillPost({ post: { html } })
  assert.match(email.html ?? '', /&#123;&#123; name \}\} \{\{ name \}\} \{% if %\} ph0n0z BOB/)
  assert.match(email.text ?? '', /\{\{ name \}\} \{\{ name \}\} \{% if %\} ph0n0z BOB/)
})

test('values are escaped in HTML and as they are in text', async () => {
  const name = '<script>alert("x")</script>'
  const html = '<p>{{ name }}</p><p>{{ name | escape }}</p><p>{{ contact.note | newline_to_br }}</p>'
  const { email } = await fillPost({ post: { html, subject: '{{ name }}' }, reader: { name, values: { contact: { note: 'a<\nb' } } } })
  assert.doesNotMatch(email.html ?? '', /<script>/)
  assert.equal(count(email.html, '&lt;script&gt;alert(&quot;x&quot;)'), 2)
  assert.match(email.html ?? '', /a&lt;<br>\s*b/)
  assert.equal(email.subject, name)
})

test('the preview is what a reader sees, and counts nothing', () => {
  const frame = { ...someFrame, track_opens: true, track_clicks: true }
  const preview = previewOf(
    { ...somePost, subject: '🎉 {{ name }}', html: '<p>Hi {{ name }} <a href="https://a.test/">a</a></p>' },
    frame,
    someReader,
  )
  assert.equal(preview.subject, '🎉 Bob')
  assert.match(preview.html ?? '', /Hi Bob <a href="https:\/\/a\.test\/">a<\/a>/)
  assert.doesNotMatch(preview.html ?? '', /\/o\/|\/c\//)
  assert.match(preview.text, /^Hi Bob a <https:\/\/a\.test\/>/)
  assert.equal(previewOf({ ...somePost, html: null, text: 'x' }, frame, someReader).html, null)
})

test('the same post compiles to the same bytes', () => {
  const bytes = () => compilePost(somePost, someFrame).fill(someReader).message
  assert.deepEqual(bytes(), bytes())
})

test('an empty post still has its way out', async () => {
  const { email } = await fillPost({ post: { html: null, subject: '' } })
  assert.match(email.text ?? '', new RegExp(unsubscribe))
})

for (const [what, html] of [
  [
    'text',
    `<style>p { color: red }</style>${`<p>${'The quick brown fox '.repeat(9)}{{ name }} <a href="https://a.test/">jumps</a></p>\n`.repeat(4_900)}`,
  ],
  ['one line', `<p>${'ünï 👋 '.repeat(150_000)}</p>`],
  ['unclosed tags', `${'<a href="x">'.repeat(400)}${'<p class="'.repeat(110_000)}`],
  ['quotes', '<p "'.repeat(250_000)],
  ['comments', '<!--'.repeat(250_000)],
  ['styles', '<style>a{}</style>'.repeat(55_000)],
  ['braces', '{ '.repeat(500_000)],
  ['rules and elements', `<style>${'p b i { color: red }\n'.repeat(20_000)}</style>${'<p><b>x</b></p>'.repeat(40_000)}`],
] as const) {
  test(`a post of a megabyte (${what}) compiles`, { timeout: 60_000 }, async () => {
    assert.ok(html.length > 900_000)
    const { raw } = await fillPost({ post: { html }, frame: { track_clicks: true } })
    assert.match(raw, /\/u\/(?:=\r\n)?tok3n/)
  })
}
