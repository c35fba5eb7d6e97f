import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeHtml, html } from './html.ts'

test('every value is escaped, in text and in attributes', () => {
  const rude = `"><script>alert('1')</script>&amp;`
  const safe = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;'
  assert.equal(escapeHtml(rude), safe)
  assert.equal(html`<a href="${rude}">${rude}</a>`.text, `<a href="${safe}">${safe}</a>`)
})

test('HTML made here goes in as it is, alone and in lists, once', () => {
  const item = (text: string) => html`<li>${text}</li>`
  assert.equal(html`<ul>${['<a>', 'b'].map(item)}</ul>`.text, '<ul><li>&lt;a&gt;</li><li>b</li></ul>')
  assert.equal(html`${html`${html`<b>${'<'}</b>`}`}`.text, '<b>&lt;</b>')
})

test('null adds nothing, a number and an empty text are themselves', () => {
  assert.equal(html`a${null}b${0}c${''}d${[]}`.text, 'ab0cd')
})
