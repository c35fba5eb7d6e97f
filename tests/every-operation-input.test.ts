import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { allOperations } from '../server/operations/all-operations.ts'
import {
  ask,
  assertAnswer,
  assertRefused,
  bodyOf,
  exampleStatus,
  type Fixtures,
  fieldsOf,
  makeFixtures,
  needsSome,
  pathOf,
  schemaOf,
} from './support/operations.ts'
import { startApp } from './support/posthaste.ts'
import type { Answer, TestProject } from './support/project.ts'

/** What comes in the body, for every operation that takes one: whatever it is, it is taken or refused in the contract's form. */
const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
let project: TestProject
let fixtures: Fixtures
before(async () => {
  project = await app.newProject()
  fixtures = await makeFixtures(app, project)
})

const tenMegabytes = 'x'.repeat(10 * 1024 * 1024)
const brackets = (depth: number, inmost = '') => '['.repeat(depth) + inmost + ']'.repeat(depth)

/** Values of every type, and text that means something to somebody else. */
const oddValues: unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1.5,
  1e308,
  true,
  false,
  [],
  {},
  [null],
  [[]],
  { a: 1 },
  'text',
  '12345',
  'a@example.org\r\nBcc: victim@example.net',
  'x\r\nX-Evil: yes\r\n\r\n<script>alert(1)</script>',
  "'; drop table lists; --",
  "' or '1'='1",
  '\\x00 %s %n #{7*7} {{7*7}} $1 %27',
  '../../etc/passwd',
  'lst_01h455vb4pex5vsknk084sn02q',
  '2026-02-30T25:61:00Z',
  '9999-12-31T23:59:59.999Z',
  '\u202e\u200b\ufeff\u0001\u007f',
  '🦊'.repeat(50),
  'é'.repeat(300),
]

for (const operation of allOperations.filter((one) => one.body !== null)) {
  const { id } = operation
  const send = (sent: { body?: unknown; raw?: string | Uint8Array<ArrayBuffer>; type?: string }): Promise<Answer> =>
    ask(project, operation, { ...sent, path: pathOf(operation, fixtures) })
  /** What an answer may be to a value that the schema takes and the rule does not. */
  const refusals = operation.isEnveloped ? [400, 401, 429] : [403, 404]
  const valid = () => bodyOf(operation, fixtures) as Record<string, unknown>
  /** The text of a body in which one field has this JSON. */
  const withJson = (field: string, json: string) => JSON.stringify({ ...valid(), [field]: '@@' }).replace('"@@"', () => json)

  for (const field of fieldsOf(operation)) {
    test(`${id}: whatever comes as ${field}, the answer is what the schema says, and names it`, async () => {
      const { [field]: _left, ...without } = valid()
      for (const body of [without, ...oddValues.map((value) => ({ ...valid(), [field]: value }))]) {
        const answer = await send({ body })
        const about = `${id} ${field}: ${JSON.stringify(body).slice(0, 200)}`
        assertAnswer(answer, about)
        const isWrong = !operation.body?.safeParse(body).success
        if (isWrong) assertRefused(answer, 422, 'validation_error', about)
        if (answer.status === 422) assert.match(answer.body.error.message, new RegExp(`^${field}(\\[\\d+\\]|\\.\\w+|\\b)*: `), about)
        else assert.ok([operation.status, ...refusals].includes(answer.status), `${about}: ${answer.status} ${JSON.stringify(answer.body)}`)
      }
    })

    test(`${id}: a NUL, half a character or bytes that are no text in ${field} are refused`, async () => {
      const broken = [
        '"a\\u0000b"',
        '"\\ud83d"',
        '"\\udd8a\\ud83e"',
        '["\\u0000"]',
        '{"a":"\\u0000"}',
        '{"\\u0000":1}',
        '[{"email":"\\ud83d"}]',
      ]
      for (const json of broken) {
        const answer = await send({ raw: withJson(field, json) })
        assertRefused(answer, 422, 'validation_error', `${id} ${field} ${json}`)
        assert.ok(answer.body.error.message.startsWith(field), `${json}: ${answer.body.error.message}`)
      }
      for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xc0, 0x80]]) {
        const [head, tail] = withJson(field, '"\u0001\u0001"').split('\u0001\u0001')
        const raw = Buffer.concat([Buffer.from(head ?? ''), Buffer.from(bytes), Buffer.from(tail ?? '')])
        assertRefused(await send({ raw }), 422, 'validation_error', `${id} ${field} ${bytes}`)
      }
    })

    test(`${id}: ten megabytes, or a hundred thousand brackets, in ${field} are refused`, async () => {
      const large = await send({ body: { ...valid(), [field]: tenMegabytes } })
      assertAnswer(large, id)
      assert.ok([413, 422].includes(large.status), `${large.status}`)
      for (const inmost of ['', '"\\u0000"', '{"a":1}']) {
        for (const json of [
          brackets(100_000, inmost),
          `{"a":${brackets(100_000, inmost)}}`,
          '{"a":'.repeat(100_000) + (inmost || '1') + '}'.repeat(100_000),
        ]) {
          const answer = await send({ raw: withJson(field, json) })
          assertRefused(
            answer,
            answer.status === 413 ? 413 : 422,
            answer.status === 413 ? 'payload_too_large' : 'validation_error',
            `${id} ${field}`,
          )
        }
      }
      const wide = `{${Array.from({ length: 60_000 }, (_, index) => `"k${index}":0`).join()}}`
      for (const json of [`[${'0,'.repeat(300_000)}0]`, `{"a":[${'0,'.repeat(300_000)}0]}`, wide])
        assertRefused(await send({ raw: withJson(field, json) }), 422, 'validation_error', `${id} ${field}`)
    })
  }

  test(`${id}: what is no JSON object is refused`, async () => {
    const wrong = [
      '{',
      '{"a"',
      "{'a':1}",
      'null',
      '5',
      '"text"',
      'true',
      '[]',
      '[{}]',
      '{}{}',
      'NaN',
      '\ufeff',
      '<xml/>',
      'a=b',
      brackets(100_000),
      '[',
      '{"a":1,}',
    ]
    for (const raw of wrong) {
      const answer = await send({ raw })
      assertRefused(answer, 422, 'validation_error', `${id} ${raw.slice(0, 50)}`)
      assert.match(answer.body.error.message, /^body: /)
    }
  })

  test(`${id}: another content type is refused, and a charset or capitals in the right one are not`, async () => {
    const raw = JSON.stringify(valid())
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'json',
      'application/jsonx',
      'x',
    ]) {
      const answer = await send({ raw, type })
      assertRefused(answer, 422, 'validation_error', `${id} ${type}`)
      assert.match(answer.body.error.message, /^Content-Type: /)
    }
    if (!operation.csv) assertRefused(await send({ raw: 'email\na@example.org', type: 'text/csv' }), 422, 'validation_error', id)
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      const answer = await send({ raw: JSON.stringify(valid()), type })
      assertAnswer(answer, `${id} ${type}`)
      assert.equal(answer.status, exampleStatus(operation), `${type}: ${JSON.stringify(answer.body)}`)
    }
  })

  test(`${id}: an empty body is an empty object`, async () => {
    const required = schemaOf(operation.body as never).required ?? []
    const answers = [await send({}), await send({ raw: '' }), await send({ raw: '{}' })]
    for (const answer of answers) {
      assertAnswer(answer, id)
      assert.equal(answer.status, required.length > 0 || needsSome.has(id) ? 422 : exampleStatus(operation))
      if (required.length > 0) assert.match(answer.body.error.message, new RegExp(`^${required[0]}: is required`))
    }
  })

  test(`${id}: unknown fields, and those that JavaScript is wary of, are ignored`, async () => {
    const odd =
      '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,"hasOwnProperty":null,"unknown":[1],"":0'
    const answer = await send({
      raw: JSON.stringify(valid()).replace('{', () => (Object.keys(valid()).length > 0 ? `{${odd},` : `{${odd}`)),
    })
    assertAnswer(answer, id)
    assert.equal(answer.status, exampleStatus(operation), JSON.stringify(answer.body))
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })
}

test('after all this the program is well, and every table is there', async () => {
  for (const operation of allOperations.filter((one) => one.method === 'GET')) {
    const answer = await ask(project, operation, { path: pathOf(operation, fixtures) })
    assert.equal(answer.status, operation.status, operation.id)
  }
})
