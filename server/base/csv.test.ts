import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { csvLine, csvStream } from './csv.ts'

test('cells are quoted where a comma, a quote, a line break or a space at an end needs it', () => {
  assert.equal(csvLine(['plain', null, '', 'a b']), 'plain,,,a b\r\n')
  assert.equal(
    csvLine(['a,b', 'say "hi"', 'two\nlines', 'cr\rhere', ' padded', 'padded ']),
    '"a,b","say ""hi""","two\nlines","cr\rhere"," padded","padded "\r\n',
  )
  assert.equal(csvLine(['žluťoučký 週刊 🎉']), 'žluťoučký 週刊 🎉\r\n')
})

test('what a spreadsheet would run becomes text', () => {
  const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1']
  for (const cell of cells) {
    const line = csvLine([cell])
    assert.ok(line.startsWith("'") || line.startsWith(`"'`), JSON.stringify(line))
    assert.equal(line.replaceAll('"', ''), `'${cell}\r\n`)
  }
  assert.equal(csvLine(['=A1,"x"']), `"'=A1,""x"""\r\n`)
  assert.equal(csvLine(['a=1', 'a@b.example', '1-1']), 'a=1,a@b.example,1-1\r\n')
})

async function* pages(...all: string[][][]) {
  yield* all
}

test('pages follow the header, also empty ones', async () => {
  const file = await text(
    csvStream(
      ['a', 'b'],
      pages(
        [['1', '2']],
        [],
        [
          ['3', '4'],
          ['5', '6'],
        ],
      ),
    ),
  )
  assert.equal(file, 'a,b\r\n1,2\r\n3,4\r\n5,6\r\n')
  assert.equal(await text(csvStream(['a', 'b'], pages())), 'a,b\r\n')
  assert.equal(await text(csvStream(['a', 'b'], pages([]))), 'a,b\r\n')
})

test('a page is made when it is wanted, and none after the reader has left', async () => {
  let made = 0
  let closed = false
  const stream = csvStream(
    ['n'],
    (async function* () {
      try {
        for (;;) yield Array.from({ length: 1_000 }, () => [String(++made)])
      } finally {
        closed = true
      }
    })(),
  )
  for await (const chunk of stream) {
    assert.ok(chunk.length > 0)
    break
  }
  assert.ok(made <= 20_000, `${made} rows for one chunk`)
  assert.ok(closed)
})

test('a failure before the first page comes before the first byte', async () => {
  const failing = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('no database')) }) }
  const received: unknown[] = []
  const reading = (async () => {
    for await (const chunk of csvStream(['a'], failing)) received.push(chunk)
  })()
  await assert.rejects(reading, /no database/)
  assert.deepEqual(received, [])
})
