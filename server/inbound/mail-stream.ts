import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'

/**
 * smtp-server with three things done otherwise. Answers to many peers leave together. The bytes of a message come as events of something lighter than a stream:
 * V8 takes a function that is written behind `something.property =` for a method, and makes it old from the start, so that it keeps all it refers to until the
 * whole heap is marked; each stream of Node has such a function, and smtp-server puts another one on its parser, with the message in reach. And the final dot is
 * looked for by `indexOf`, not byte by byte. A test holds it to the original.
 */
export class MailServer extends SMTPServer {
  override connect(socket: Socket, options: SMTPConnectionOptions): void {
    const connection = new MailConnection(this, socket, options)
    this.connections.add(connection)
    connection.on('error', (error) => this._onError(error))
    connection.on('connect', (data) => this._onClientConnect(data))
    connection.init()
  }
}

class MailConnection extends SMTPConnection {
  /** Before a handshake or a goodbye, all that was said before is on its way. */
  override send(code: number, data: string | string[], context?: string | false): void {
    const socket = this._socket
    const goesOn = code === 250 || code === 354
    if (goesOn) corkForThisTurn(socket)
    super.send(code, data, context)
    if (!goesOn) socket.uncork()
  }

  override _createParser(): SMTPStream {
    const parser = new MailStream({ maxCommandLength: this._server.options.maxCommandLength })
    const onCommand: SMTPStream['oncommand'] = (command, callback) => this._onCommand(command, callback)
    parser.oncommand = onCommand
    parser.on('error', (error) => this.send(421, `Error: ${error.message}`))
    return parser
  }
}

const corked: Socket[] = []

/**
 * What is said to many peers in one turn of the event loop leaves at its end. Each write rouses its reader, which takes the processor at once to
 * say the next thing; here that was a fifteenth of what filing a message costs.
 */
function corkForThisTurn(socket: Socket): void {
  if (socket.writableCorked > 0) return
  socket.cork()
  if (corked.push(socket) === 1) setImmediate(uncorkAll)
}

function uncorkAll(): void {
  for (const socket of corked.splice(0)) socket.uncork()
}

const lineDot = Buffer.from('\n.')
const finalDot = Buffer.from('\r\n.\r\n')
const firstDot = finalDot.subarray(2)
const dot = 0x2e

export class MailStream extends SMTPStream {
  override startDataMode(maxBytes?: number | string | null): SMTPServerDataStream {
    const message = new MessageBytes() as EventEmitter as SMTPServerDataStream
    Object.assign(this, {
      _dataMode: true,
      _maxBytes: Number(maxBytes) || Infinity,
      dataBytes: 0,
      _atDataStart: true,
      _dataStream: message,
    })
    return message
  }

  override _feedDataStream(given: Buffer, done: (error?: Error | null) => void): void {
    let chunk = this._lastBytes ? Buffer.concat([this._lastBytes, given]) : given
    this._lastBytes = false
    if (this._atDataStart && chunk.subarray(0, 3).equals(firstDot)) {
      this._endDataMode(false, chunk.subarray(3), done)
      return
    }
    // An escape is content that was read: what follows is no final dot, wherever the peer cuts its packets.
    if (this._atDataStart && chunk[0] === dot && chunk[1] === dot) {
      chunk = chunk.subarray(1)
      this._atDataStart = false
    }
    for (let at = chunk.indexOf(lineDot, 1) + 1; at > 0 && at < chunk.length - 2; at = chunk.indexOf(lineDot, at) + 1) {
      const isFinal = chunk.subarray(at - 2, at + 3).equals(finalDot)
      if (!isFinal && chunk[at + 1] !== dot) continue
      const before = chunk.subarray(0, at)
      this._countDataBytes(before.length)
      if (isFinal) this._endDataMode(before, chunk.subarray(at + 3), done)
      else this.#unescape(before, chunk.subarray(at + 1), done)
      return
    }
    // The last bytes may be the beginning of the end.
    const length = Math.max(0, chunk.length - 4)
    this._lastBytes = chunk.subarray(length)
    this._countDataBytes(length)
    if (length > 0) this._dataStream?.write(chunk.subarray(0, length))
    done()
  }

  #unescape(before: Buffer, rest: Buffer, done: (error?: Error | null) => void): void {
    this._dataStream?.write(before)
    setImmediate(() => this._feedDataStream(rest, done))
  }

  override _endDataMode(chunk: Buffer | false, remainder: Buffer, callback: (error?: Error | null) => void): void {
    const message = this._dataStream as SMTPServerDataStream // in this mode there is one
    const goOn = () => this._write(remainder, 'buffer', callback)
    const wasAnswered = this._continueCallback === true
    const isOver = message.destroyed || message.readableEnded
    this._continueCallback = wasAnswered ? false : goOn
    if (wasAnswered && !isOver) message.once('end', goOn)
    message.byteLength = this.dataBytes
    message.sizeExceeded = this.dataBytes > this._maxBytes
    message.end(chunk || undefined)
    this._dataMode = false
    this._remainder = ''
    this._dataStream = null
    if (wasAnswered && isOver) goOn()
  }
}

/** What smtp-server and `collect-message.ts` want of a stream. Whoever takes the message listens from the start, and takes all of it. */
class MessageBytes extends EventEmitter {
  byteLength = 0
  sizeExceeded = false
  writable = true
  writableEnded = false
  readable = true
  readableEnded = false
  readableFlowing = true
  destroyed = false

  write(chunk: Buffer): boolean {
    if (this.writable) this.emit('data', chunk)
    return true
  }

  end(chunk?: Buffer): void {
    if (chunk && chunk.length > 0) this.write(chunk)
    this.writable = false
    this.writableEnded = true
    // Not at once: whoever ends it is not done yet.
    process.nextTick(endReading, this)
  }

  destroy(error?: Error): void {
    this.destroyed = true
    this.writable = false
    this.readable = false
    if (error) this.emit('error', error)
    this.emit('close')
  }

  resume(): this {
    return this
  }
}

function endReading(message: MessageBytes): void {
  if (message.destroyed) return
  message.readable = false
  message.readableEnded = true
  message.emit('end')
}
