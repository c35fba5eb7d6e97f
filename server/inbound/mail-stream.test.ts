import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { MailStream } from './mail-stream.ts'

/** What a parser makes of these bytes: commands, and messages after each DATA, as text. */
async function read(parser: SMTPStream, chunks: Buffer[]): Promise<string[]> {
  const seen: string[] = []
  const onCommand: SMTPStream['oncommand'] = (command, callback) => {
    seen.push(`C ${command.toString('latin1')}`)
    if (command.toString() !== 'DATA') return void setImmediate(() => callback?.())
    const message = parser.startDataMode(20)
    const pieces: Buffer[] = []
    message.on('data', (piece: Buffer) => pieces.push(piece))
    message.on('end', () => {
      seen.push(`D ${Buffer.concat(pieces).toString('latin1')} ${message.byteLength} ${message.sizeExceeded}`)
      parser.continue()
    })
    callback?.()
  }
  parser.oncommand = onCommand
  for (const chunk of chunks) parser.write(chunk)
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  return seen
}

const pieces = [
  '.',
  '..',
  '\r\n',
  '\n',
  '\r',
  'a',
  'DATA\r\n',
  'NOOP\r\n',
  '\r\n.\r\n',
  '\r\n..\r\n',
  '\n.\n',
  '\r\n.\n',
  '.\r\n',
  'bcdefgh',
]

test('commands and messages are cut out of the bytes as smtp-server cuts them, wherever packets end', async () => {
  let seed = 7
  const below = (limit: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * limit)
  }
  for (let round = 0; round < 400; round++) {
    const text = `DATA\r\n${Array.from({ length: 2 + below(14) }, () => pieces[below(pieces.length)]).join('')}\r\n.\r\nQUIT\r\n`
    const bytes = Buffer.from(text, 'latin1')
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + below(round % 2 === 0 ? 4 : bytes.length)
      chunks.push(bytes.subarray(at, at + size))
      at += size
    }
    const copies = chunks.map((chunk) => Buffer.from(chunk))
    assert.deepEqual(await read(new MailStream(), chunks), await read(new SMTPStream(), copies), JSON.stringify(chunks.map(String)))
  }
})
