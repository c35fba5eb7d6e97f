import assert from 'node:assert/strict'
import { test } from 'node:test'
import { threadMs } from '../../base/thread-time.ts'
import cases from './sanitise-cases.json' with { type: 'json' }
import { sanitiseHtml } from './sanitise-html.ts'

const linkOfContentId = (id: string) => (id === 'logo@example.org' ? '/parts/1' : null)

for (const { html, shown } of cases) {
  test(`shows ${JSON.stringify(html).slice(0, 100)}`, () => {
    assert.equal(sanitiseHtml(html, { linkOfContentId }), shown)
    // What is safe once is safe again, with nothing left to take out: a sign that it means the same to every parser.
    assert.equal(
      sanitiseHtml(shown, { linkOfContentId: () => '/parts/1' }).replaceAll(/ (?:data-remote-)?src="[^"]*"/g, ''),
      shown.replaceAll(/ (?:data-remote-)?src="[^"]*"/g, ''),
    )
  })
}

test('pictures from elsewhere are shown on request, and say that they are', () => {
  assert.equal(
    sanitiseHtml('<img src="//tracker.test/o.gif" loading=eager>', { linkOfContentId, remoteImages: 'show' }),
    '<img src="https://tracker.test/o.gif" data-remote="yes" referrerpolicy="no-referrer" loading="lazy" />',
  )
})

test('a content id is found as it is written in a link', () => {
  assert.equal(sanitiseHtml('<img src="CID:logo%40example.org">', { linkOfContentId }), '<img src="/parts/1" />')
  assert.equal(sanitiseHtml('<img src="cid:%E0%A4%A">', { linkOfContentId }), '<img />')
})

test('tags beyond reason cost what their letters cost, and leave their words', () => {
  const bodies = ['<div>', '<table><tr><td>', '<b><i><a href=x>', ' <p><span>', '<div><svg><math>'].map((tags) =>
    tags.repeat(4_000_000 / tags.length - 10),
  )
  for (const body of [...bodies, `${'<div>'.repeat(299)}${'</x>'.repeat(900_000)}`]) {
    const began = threadMs()
    const shown = sanitiseHtml(`<p>first &lt;b&gt;</p>${body}words`, { linkOfContentId })
    // Half a second; with the square of the tags it would be minutes.
    assert.ok(threadMs() - began < 5_000, body.slice(0, 30))
    assert.match(shown, /first &lt;b&gt;.*words/s)
    assert.ok(shown.split('<div').length <= 101)
  }
  assert.equal(sanitiseHtml('<b'.repeat(100_000), { linkOfContentId }).includes('<b'), false)
})

test('up to three hundred open tags the inner ones are left out; above that all are', () => {
  const nested = (depth: number) => sanitiseHtml(`${'<div>'.repeat(depth)}<b>a</b>${'</div>'.repeat(depth)}<b>c</b>`, { linkOfContentId })
  assert.equal(nested(299), `${'<div>'.repeat(100)}a${'</div>'.repeat(100)}<b>c</b>`)
  assert.equal(nested(300), '<div style="white-space:pre-wrap">a\nc</div>')
  // One after the other is not in one another.
  assert.equal(sanitiseHtml('<p>a<br><img>'.repeat(1_000), { linkOfContentId }), '<p>a<br /><img /></p>'.repeat(1_000))
})

test('a link to a part is a path or a web address, whatever it was made of', () => {
  for (const id of ['javascript:alert(1)', 'data:image/svg+xml,x', '//evil.test/a', '/\\evil.test', 'parts/1', ' https://a.test', ''])
    assert.equal(sanitiseHtml(`<img src="cid:${encodeURIComponent(id)}">`, { linkOfContentId: (given) => given }), '<img />', id)
  for (const link of ['/parts/1', 'https://mail.example.org/parts/1'])
    assert.equal(sanitiseHtml('<img src="cid:a">', { linkOfContentId: () => link }), `<img src="${link}" />`)
})
