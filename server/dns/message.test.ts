import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MalformedReply, readReply, writeQuestion } from './message.ts'

const header = (counts: [number, number], flags = 0x8180): Buffer => {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt16BE(7, 0)
  bytes.writeUInt16BE(flags, 2)
  bytes.writeUInt16BE(counts[0], 4)
  bytes.writeUInt16BE(counts[1], 6)
  return bytes
}
const name = Buffer.from('\x01a\x04test\0', 'latin1')
const question = Buffer.concat([name, Buffer.from([0, 16, 0, 1])])
const record = (type: number, data: Buffer, ttl = 60): Buffer => {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

describe('replies', () => {
  it('are read with their compressed names', () => {
    const reply = readReply(
      Buffer.concat([header([1, 2]), question, record(16, Buffer.from('\x02ab\x01c')), record(5, Buffer.from([0xc0, 0x0c]))]),
    )
    assert.deepEqual(reply.answers, [
      { name: 'a.test', type: 'TXT', ttl: 60, data: 'abc' },
      { name: 'a.test', type: 'CNAME', ttl: 60, data: 'a.test' },
    ])
    assert.deepEqual(reply.question, { name: 'a.test', type: 16 })
  })

  it('have names of printable letters alone, which lead back to the same bytes', () => {
    const strange = Buffer.from('\x05a\0b.\\\x02\xe4A\x04test\0', 'latin1')
    const reply = readReply(Buffer.concat([header([1, 1]), question, record(5, strange)]))
    const target = String(reply.answers[0]?.data)
    assert.equal(target, 'a\\000b\\.\\\\.\\228A.test')
    assert.deepEqual(writeQuestion({ id: 1, name: target, type: 'TXT' })?.subarray(12, 12 + strange.length), strange)
  })

  it('keep nothing for longer than a sign allows', () => {
    const reply = readReply(Buffer.concat([header([1, 1]), question, record(16, Buffer.from('\x01a'), 0x80000000)]))
    assert.equal(reply.answers[0]?.ttl, 0)
  })

  const broken: Record<string, Buffer> = {
    'are cut off in the header': Buffer.alloc(5),
    'are questions': header([0, 0], 0x0100),
    'promise more than there is': header([1, 0]),
    'have a name that points at itself': Buffer.concat([header([1, 0]), Buffer.from([0xc0, 0x0c, 0, 1, 0, 1])]),
    'have a name that points outside': Buffer.concat([header([1, 0]), Buffer.from([0xff, 0xff, 0, 1, 0, 1])]),
    'have a part of an unknown kind': Buffer.concat([header([1, 0]), Buffer.from([0x80, 1, 0, 1, 0, 1])]),
    'have a record that ends later': Buffer.concat([header([1, 1]), question, record(16, Buffer.from('\x01a')).subarray(0, -1)]),
    'have a string that ends later': Buffer.concat([header([1, 1]), question, record(16, Buffer.from('\x09a'))]),
    'have an address of three bytes': Buffer.concat([header([1, 1]), question, record(1, Buffer.from([1, 2, 3]))]),
    'have a CAA tag that ends later': Buffer.concat([header([1, 1]), question, record(257, Buffer.from('\0\x20issue'))]),
  }
  for (const [what, bytes] of Object.entries(broken)) {
    it(`that ${what} are refused`, () => assert.throws(() => readReply(bytes), MalformedReply))
  }

  it('of any bytes are read or refused, and nothing else', () => {
    const whole = Buffer.concat([
      header([1, 2]),
      question,
      record(16, Buffer.from('\x02ab\x01c')),
      record(257, Buffer.from('\0\x05issuea')),
    ])
    for (let at = 0; at < whole.length; at++)
      for (const value of [0, 1, 63, 64, 0x7f, 0x80, 0xc0, 0xff]) {
        const changed = Buffer.from(whole)
        changed[at] = value
        try {
          readReply(changed)
        } catch (error) {
          assert.ok(error instanceof MalformedReply, `byte ${at} as ${value}: ${error}`)
        }
      }
  })
})

describe('questions', () => {
  const impossible = [
    '',
    'a..b',
    `${'a'.repeat(64)}.test`,
    `${'abcdefgh.'.repeat(29)}test`,
    'a b.test',
    'ä.test',
    'a\0.test',
    'a\\256.test',
    'a.test\\',
  ]
  for (const written of impossible) {
    it(`are not written for ${JSON.stringify(written.slice(0, 20))}`, () =>
      assert.equal(writeQuestion({ id: 1, name: written, type: 'A' }), null))
  }
})
