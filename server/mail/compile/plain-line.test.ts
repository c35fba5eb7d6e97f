import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainLine } from './plain-line.ts'

test('a line as somebody reads it of whom nothing is known', () => {
  const lines: [string, string][] = [
    ['Hello', 'Hello'],
    ['{{ first_name }}, your week', 'Your week'],
    ['Hi {{ name | default: "friend" }}!', 'Hi friend!'],
    ["{{ name | default: 'Dear reader' }}: news", 'Dear reader: news'],
    ['News for {{ name }}', 'News for'],
    ['{{ list_name }} 12', 'Kitchen 12'],
    ['{% if name %}Hi {{ name }}{% else %}Hi{% endif %} there', 'There'],
    ['{% unless a %}{% if b %}x{% endif %}y{% endunless %}{% comment %}z{% endcomment %}News', 'News'],
    ['{% raw %}{{ not a tag }}{% endraw %}', '{{ not a tag }}'],
    ['', ''],
    ['{{ name }}', ''],
  ]
  for (const [written, read] of lines) assert.equal(plainLine(written, { list_name: 'Kitchen' }), read, written)
})
