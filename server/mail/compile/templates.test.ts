import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillPost, someFrame, somePost, someReader } from '../../../tests/support/compiled-posts.ts'
import { checkTemplates, compilePost, previewOf } from './compile-post.ts'
import { TemplateError } from './index.ts'

const fields = {
  subject: 'subject',
  preview_text: 'preview_text',
  html: 'body_html',
  text: 'body_text',
  markdown: 'body_markdown',
} as const

/** Written, the line and column of the mistake, and what is said about it. */
const broken: [source: string, line: number, column: number, problem: RegExp][] = [
  ['Hello {{ name', 1, 7, /"\{\{" has no "\}\}"/],
  ['Hello {{ name }', 1, 7, /has no "\}\}"/],
  ['a\nb {{ name | shout }}', 2, 3, /there is no filter "shout"/],
  ['{% if name %}\nHello', 1, 1, /this \{% if %\} has no \{% endif %\}/],
  ['x\n\n  {% for a in b %}', 3, 3, /this \{% for %\} has no \{% endfor %\}/],
  ['x {% endif %}', 1, 3, /\{% endif %\} belongs to no tag/],
  ['{% else %}', 1, 1, /belongs to no tag/],
  ['{% if a %}{% endfor %}', 1, 11, /\{% endfor %\} belongs to no tag/],
  ['{% shout %}', 1, 1, /there is no tag "shout"/],
  ['{% include "secrets" %}', 1, 1, /cannot include other files/],
  ['{% render "/etc/passwd" %}', 1, 1, /cannot include other files/],
  ['{% layout "x" %}', 1, 1, /cannot include other files/],
  ['{{ }}', 1, 4, /a name or a value is missing/],
  ['{{ name | default "friend" }}', 1, 19, /comes after a colon/],
  ['{{ name || default }}', 1, 10, /name of a filter is missing/],
  ['{% raw %}x', 1, 10, /\{% raw %\} has no \{% endraw %\}/],
  ['{% if name', 1, 1, /"\{%" has no "%\}"/],
  ['{% for x of y %}{% endfor %}', 1, 1, /is not written as it should be/],
  ['{% if %}x{% endif %}', 1, 6, /name or a value is missing/],
  ['ünï 👋 {{ x | nope }}', 1, 8, /there is no filter "nope"/],
]

for (const [source, line, column, problem] of broken) {
  test(`${JSON.stringify(source)} is refused at ${line}:${column}`, () => {
    for (const [key, field] of Object.entries(fields)) {
      const post = { ...somePost, html: null, [key]: source }
      for (const act of [() => checkTemplates(post), () => compilePost(post, someFrame), () => previewOf(post, someFrame, someReader)]) {
        assert.throws(act, (error) => {
          assert.ok(error instanceof TemplateError, String(error))
          assert.deepEqual([error.field, error.line, error.column], [field, line, column], error.message)
          assert.match(error.problem, problem)
          assert.equal(error.message, `line ${line}, column ${column}: ${error.problem}`)
          return true
        })
      }
    }
  })
}

const hostile: [what: string, source: string][] = [
  ['a loop over a huge range', '{% for i in (1..100000000) %}x{% endfor %}'],
  ['loops in loops', '\n{% for i in (1..9999) %}{% for j in (1..9999) %}{% for k in (1..9999) %}{% endfor %}{% endfor %}{% endfor %}'],
  ['a text that doubles', '{% assign x = "aaaaaaaaaa" %}{% for i in (1..60) %}{% assign x = x | append: x %}{% endfor %}{{ x }}'],
  ['a huge output', `{% for i in (1..100000) %}${'x'.repeat(10_000)}{% endfor %}`],
  [
    'a huge capture',
    `{% for j in (1..50) %}{% capture y %}{% for i in (1..90000) %}${'x'.repeat(9_000)}{% endfor %}{% endcapture %}{{ y }}{% endfor %}`,
  ],
]

for (const [what, source] of hostile) {
  test(`${what} is stopped with an error`, () => {
    const says = (error: unknown) => error instanceof TemplateError && /is there a loop in it that does not end/.test(error.message)
    assert.throws(() => checkTemplates({ ...somePost, html: source }), says)
    const { fill } = compilePost({ ...somePost, html: source }, someFrame)
    assert.throws(() => fill(someReader), says)
  })
}

for (const [what, source] of [
  ['400 loops of 1,000 turns', '{% for i in (1..400) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}'],
  ['a text that a loop makes long', `{% assign x = "${'é'.repeat(2_000)}" %}{% for i in (1..1900) %}{{ x }}{% endfor %}`],
  ['the same, gathered first', `{% capture y %}{% for i in (1..1900) %}${'é'.repeat(2_000)}{% endfor %}{% endcapture %}{{ y | size }}`],
] as const) {
  test(`${what}: more than one reader may cost`, () => {
    assert.throws(() => checkTemplates({ ...somePost, html: source }), /is there a loop in it that does not end/)
    assert.throws(() => compilePost({ ...somePost, html: source }, someFrame).fill(someReader), TemplateError)
  })
}

test('a long post without logic, and a long loop that is not too long, are taken', () => {
  checkTemplates({ ...somePost, text: `{{ name }} ${'x '.repeat(499_000)}` })
  checkTemplates({ ...somePost, html: '{% for i in (1..1000) %}<li>{{ name }} {{ i }} {{ email | upcase }}</li>{% endfor %}' })
})

test('a post of too many tags or letters is refused at once', () => {
  assert.throws(() => checkTemplates({ ...somePost, html: '{{ a }}'.repeat(200_000) }), /has more than 5,000 merge tags/)
  assert.throws(() => checkTemplates({ ...somePost, text: 'x'.repeat(2_000_001) }), /is longer than 2,000,000 letters/)
})

test('a template sees its values and nothing of the program', async () => {
  const values = { contact: JSON.parse('{"metadata":{"city":"Bern"},"__proto__":{"x":1}}') }
  const { email } = await fillPost({
    post: {
      html: null,
      text: '[{{ contact.metadata.city }}][{{ constructor }}][{{ contact.constructor }}][{{ name.constructor }}][{{ contact.toString }}][{{ name.constructor | upcase }}]',
    },
    reader: { values },
  })
  assert.match(email.text ?? '', /^\[Bern\]\[\]\[\]\[\]\[\]\[\]/)
})

/** The same tag filled by slot, and by Liquid (a filter that changes nothing makes it need logic). */
const tags = [
  'name',
  'name | default: "friend"',
  "name | default: 'friend'",
  'first_name',
  'email',
  'unsubscribe_url',
  'preferences_url',
  'list_name',
  'postal_address | default: "nowhere"',
  'contact.metadata.x',
  'contact.metadata.x | default: "none"',
  'contact.missing.deeply',
  'missing',
]
const values: unknown[] = [
  'plain',
  '',
  null,
  undefined,
  false,
  true,
  0,
  1.5,
  [],
  ['a', 'b'],
  {},
  { a: '<1>' },
  '<b>&"\'</b>',
  'a\nb\r\nc',
  '.dot',
  'From here',
  ' ',
  'é👋',
  'x'.repeat(3000),
  '= =20 =',
]

for (const tag of tags) {
  test(`{{ ${tag} }} reads the same by slot and by logic`, async () => {
    for (const value of values) {
      const reader = { name: typeof value === 'string' ? value : null, values: { contact: { metadata: { x: value } } } }
      const post = (text: string) => ({
        subject: `S ${text} E`,
        preview_text: `P ${text} E`,
        html: `<p title="${text}">${text}</p> ${text}`,
        text: `${text}\n x ${text}`,
      })
      const slots = await fillPost({ post: post(`{{ ${tag} }}`), reader })
      // The second tag needs logic and writes nothing, so that the first one is run by Liquid as well.
      const logic = await fillPost({ post: post(`{{ ${tag} }}{{ "" | upcase }}`), reader })
      assert.deepEqual([slots.needs_logic, logic.needs_logic], [false, true])
      assert.equal(logic.email.subject, slots.email.subject)
      assert.equal(logic.email.html, slots.email.html)
      assert.equal(logic.email.text, slots.email.text)
    }
  })
}
