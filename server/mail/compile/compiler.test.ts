import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { someFrame, somePost, someReader } from '../../../tests/support/compiled-posts.ts'
import { compilePost } from './compile-post.ts'
import { CompilerBusy, createCompiler, openPost, TemplateError } from './index.ts'

const compiler = createCompiler()
after(() => compiler.stop())

const compile = (post: object, project = 'one') =>
  compiler.compile(project, { source: { ...somePost, html: null, ...post }, frame: someFrame }, someReader)

/** To see that no element fits takes the cube of their number: minutes, and nothing odd is to be seen in it. */
const slow = { html: `<style>b ~ i ~ p{color:red}</style>${'<i></i><p>x</p>'.repeat(3_000)}` }

test('what the thread compiled is what would have been compiled here, and survives being kept as JSON', async () => {
  const posts = [
    {
      html: '<style>p { color: red }</style><p>Hi {{ name | default: "friend" }}</p><a href="https://a.test/">a</a>',
      preview_text: 'Look',
    },
    { markdown: '# Hello {{ name }}\n\n{% if contact.city %}- a{% endif %}' },
    { text: 'Hi \u0000 \ud800 {{ contact.city }} https://a.test/x' },
  ]
  for (const post of posts) {
    const source = { ...somePost, html: null, ...post }
    const parts = JSON.parse(JSON.stringify(await compile(post)))
    const here = compilePost(source, someFrame)
    assert.deepEqual(openPost(parts, source, someFrame).fill(someReader), here.fill(someReader))
    assert.deepEqual(parts.links, here.links)
  }
})

test('previews are filled for each reader', async () => {
  const source = { ...somePost, subject: 'Hi {{ name }}' }
  const previews = await compiler.preview('one', { source, frame: someFrame }, [someReader, { ...someReader, name: 'Ann' }])
  assert.deepEqual(
    previews.map(({ subject }) => subject),
    ['Hi Bob', 'Hi Ann'],
  )
})

test('a mistake of the author comes back with its place', async () => {
  for (const act of [
    () => compiler.check('one', { ...somePost, html: 'a\n{{ x | nope }}' }),
    () => compile({ html: 'a\n{{ x | nope }}' }),
  ]) {
    await assert.rejects(act, (error) => {
      assert.ok(error instanceof TemplateError)
      assert.deepEqual([error.field, error.line, error.column, error.problem], ['body_html', 2, 1, 'there is no filter "nope"'])
      return true
    })
  }
})

test('a post that takes too long is refused; who waits behind it takes turns, and nobody here is held up', async () => {
  const order: string[] = []
  const note = (name: string) => (error?: unknown) => {
    order.push(error instanceof TemplateError ? `${name}: ${error.field} ${error.problem.split(';')[0]}` : name)
  }
  let turns = 0
  const turning = setInterval(() => turns++, 10)
  await Promise.all([
    compile(slow, 'attacker').then(note('slow'), note('first')),
    compile(slow, 'attacker').then(note('slow'), note('second')),
    compile({ text: 'x' }, 'victim').then(note('victim')),
  ])
  clearInterval(turning)
  assert.deepEqual(order, ['first: body_html takes too long to put together', 'victim', 'second: body_html takes too long to put together'])
  assert.ok(turns > 100)
})

test('a mail that becomes too large to be sent is refused', async () => {
  await assert.rejects(
    compile({ html: `<p>${'漢'.repeat(900_000)}</p>` }),
    /body_html|makes a mail of 1\d\.\d MB, and at most 5 MB can be sent/,
  )
  await assert.rejects(
    compile({ html: Array.from({ length: 10_001 }, (_, number) => `<a href="https://a.test/${number}">x</a>`).join('') }),
    /has more than 10,000 different links/,
  )
})

test('a post that is too dear for one reader is refused, though it keeps to the bound', async () => {
  const loop = `{% for i in (1..900) %}{% if 1${' and 1'.repeat(2_000)} %}{% endif %}{% endfor %}`
  await assert.rejects(compile({ text: loop }), /to fill in for one reader/)
})

test('of one project only so many wait; when it stops, nobody waits in vain', async () => {
  const own = createCompiler()
  const asked = Array.from({ length: 60 }, (_, number) => own.check(number < 55 ? 'one' : 'other', somePost))
  const answers = Promise.allSettled(asked)
  await Promise.allSettled(asked.slice(50, 55).map((one) => assert.rejects(one, CompilerBusy)))
  await asked[59]
  const left = own.check('one', somePost)
  await own.stop()
  await assert.rejects(left, CompilerBusy)
  await assert.rejects(own.check('one', somePost), CompilerBusy)
  const refused = (await answers).filter(({ status }) => status === 'rejected').length
  assert.ok(refused >= 5)
})
