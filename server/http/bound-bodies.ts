import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { peerOf } from '../base/peer-address.ts'
import { BodyMemory } from './body-memory.ts'
import { tooLarge } from './errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Fewer bytes than the route takes, for this caller. */
    mostBytes: number | null
    heldBody: HeldBody | null
  }
  interface FastifyContextConfig {
    /** As text/csv its body streams through. */
    takesCsv?: boolean
    /** A library reads the body, and bounds it. */
    isHandedOver?: boolean
  }
}

interface BodyLimits {
  /** Held at once by this process. */
  bytes: number
  /** From the head of a request to the end of its body. */
  withinMs: number
}

/** Twelve of the largest at once, and thousands of the usual ones. Made into text and values, a body takes a few times its own size. */
const usual: BodyLimits = { bytes: 128 * 1024 * 1024, withinMs: 60_000 }

/**
 * Bodies that are read whole lie in memory until they are answered, and their senders are strangers: they have to come to an end, and only
 * so much of them is held at once. CSV streams through, and may take as long as it keeps moving.
 */
export function boundBodies(app: FastifyInstance, { bytes, withinMs }: BodyLimits = usual): void {
  const memory = new BodyMemory(bytes)
  app.decorateRequest('mostBytes', null)
  app.decorateRequest('heldBody', null)
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (!isReadWhole(request)) return done()
    const held = new HeldBody({ request, payload, memory, withinMs })
    request.heldBody = held
    done(held.refusalOf(Number(request.headers['content-length'] ?? 0)))
  })
  // Also for who has left: until then somebody works on it.
  app.addHook('onSend', (request, _reply, payload, done) => {
    request.heldBody?.release()
    done(null, payload)
  })
}

const isReadWhole = ({ method, headers, routeOptions }: FastifyRequest): boolean =>
  method !== 'GET' &&
  method !== 'HEAD' &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0) &&
  !(routeOptions.config.takesCsv && /^\s*text\/csv\b/i.test(headers['content-type'] ?? ''))

interface Held {
  request: FastifyRequest
  payload: Readable
  memory: BodyMemory
  withinMs: number
}

class HeldBody {
  readonly #held: Held
  readonly #owners: string[]
  readonly #mostBytes: number
  readonly #timer: NodeJS.Timeout
  #bytes = 0
  #isOver = false

  constructor(held: Held) {
    const { request, payload, withinMs } = held
    this.#held = held
    this.#owners = [peerOf(request), ...(request.caller ? [request.caller.counted_as] : [])]
    this.#mostBytes = Math.min(request.mostBytes ?? Number.POSITIVE_INFINITY, request.routeOptions.bodyLimit)
    this.#timer = setTimeout(() => this.#fail(tooSlow(withinMs)), withinMs)
    payload.once('close', () => clearTimeout(this.#timer)).once('end', () => clearTimeout(this.#timer))
    if (request.routeOptions.config.isHandedOver) return
    // Not before somebody reads: listening sets it going, and what came until then would be lost.
    payload.once('resume', () => payload.on('data', (chunk: Buffer) => this.#take(chunk.length)))
  }

  /** Told before anything is read, where the head says enough. */
  refusalOf(announced: number): ApiError | undefined {
    if (announced > this.#mostBytes) return tooLarge()
    return this.#held.memory.hasRoom(announced, this.#owners) ? undefined : noRoom()
  }

  #take(bytes: number): void {
    if (this.#isOver) return
    const { memory } = this.#held
    if (this.#bytes + bytes > this.#mostBytes) this.#fail(tooLarge())
    else if (!memory.hasRoom(bytes, this.#owners)) this.#fail(noRoom())
    else {
      this.#bytes += bytes
      memory.take(bytes, this.#owners)
    }
  }

  /** Whoever reads it gets an error for its end, answers with it and closes the connection. Where nobody does, that is closed at once. */
  #fail(failure: ApiError): void {
    const { payload, request } = this.#held
    this.release()
    if (payload.listenerCount('error') > 0 && !request.routeOptions.config.isHandedOver) payload.emit('error', failure)
    else payload.destroy()
  }

  release(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#held.memory.give(this.#bytes, this.#owners)
  }
}

const noRoom = () =>
  new ApiError('service_unavailable', 'This server holds as many request bodies as it can just now. Try again in a few seconds.', {
    headers: { 'retry-after': '5' },
  })

const tooSlow = (withinMs: number) =>
  new ApiError(
    'request_timeout',
    `The body did not come to its end within ${withinMs / 1000} s. Send less at a time; an import as text/csv may take longer.`,
  )
