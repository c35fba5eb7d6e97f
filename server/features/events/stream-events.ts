import { Readable } from 'node:stream'
import { z } from 'zod'
import { Seats } from '../../base/seats.ts'
import type { Database } from '../../database/database.ts'
import { type EventType, eventTypes } from '../../events/catalogue.ts'
import { envelopeOf } from '../../events/envelope.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation, fileOf } from '../../operations/define-operation.ts'
import { secondsUpTo } from '../../operations/schemas.ts'
import { currentSnapshot, placeOfEvent } from './event-queries.ts'
import { EventTail } from './event-tail.ts'
import { followEvents, quiet, type Start } from './follow-events.ts'
import { parseEventId, readMoment } from './place.ts'

/** Clients come back by themselves, and are asked for their key again then. */
const maxSeconds = 3_600
/** Proxies end connections on which nothing moves, most of them after a minute. */
const beatMs = 15_000
/** Who has not taken what was handed to them for so long is not there, or not able to follow; they may come back. */
const stalledMs = 60_000
/** After the end, for a reader to take what is under way. */
const farewellMs = 500
const chunkLetters = 64 * 1024

const isEventType = (name: string): name is EventType => (eventTypes as string[]).includes(name)

const types = z
  .string()
  .transform((text, { addIssue }) => {
    const names = [...new Set(text.split(',').map((part) => part.trim()))].filter(Boolean)
    const unknown = names.find((name) => !isEventType(name))
    if (unknown !== undefined) addIssue(`has no event called ${unknown.slice(0, 60)}`)
    else if (names.length === 0) addIssue('must name at least one event; leave it out for all')
    return names.filter(isEventType)
  })
  .meta({ description: 'Names of events with commas between them; all, when left out' })

export const streamEvents = defineOperation({
  id: 'events.stream',
  method: 'GET',
  path: '/events/stream',
  scope: 'read',
  summary: 'Every event of the project, as it happens',
  description: [
    'Server-sent events, for who has no public address to send webhooks to. Each has the id and the type of the event; `data` is the same JSON that a webhook gets.',
    'Events come in the order in which they became final, within about half a second. A client that comes back with `Last-Event-ID` (or `last_event_id`) misses nothing and is told nothing twice; without it the stream begins now. Events are kept for 30 days: for an id that is not known any more the stream begins with an event `stream.gap`, whose data is `{ "last_event_id": "evt_…" }`, and goes on with what happens from now on; read anew what you keep a copy of.',
    'A comment comes every 15 seconds when nothing else does. The stream ends after `seconds`, when the key does, and when the server restarts; clients come back. One who takes nothing for a minute is cut off. A key has 20 streams at a time, a project 100; then it is 429.',
  ].join('\n\n'),
  query: z.object({
    types: types.optional(),
    last_event_id: z
      .string()
      .max(100)
      .optional()
      .meta({ description: 'For clients that cannot set the header `Last-Event-ID`, which counts before this' }),
    seconds: secondsUpTo(maxSeconds)
      .default(maxSeconds)
      .meta({ description: `At most ${maxSeconds}` }),
  }),
  result: fileOf('text/event-stream'),
  status: 200,
  errors: [],

  async run(context, { query }) {
    const { database, caller } = context
    const last = lastEventId(context, query.last_event_id)
    const ended = AbortSignal.any([
      AbortSignal.timeout(query.seconds * 1000),
      ...(context.request.patience ? [context.request.patience.ended()] : []),
    ])
    const { tail, seats } = partsOf(context)
    // Here already: when there are too many, that is an answer and no stream.
    seats.take(caller, ended)
    const follower = await tail.follow({ project_id: caller.project_id, types: query.types ?? eventTypes }, ended)
    const known = last && (await placeOfEvent(database, caller.project_id, last.id))
    const start: Start = known ? { after: known, since: null } : await startNow(database)
    const opening = `retry: 2000\n\n${last && !known ? gapAfter(last.text) : ''}`
    return {
      content_type: 'text/event-stream; charset=utf-8',
      headers: { 'cache-control': 'no-store', 'x-accel-buffering': 'no', connection: 'close' },
      body: bodyOf(write(context, { opening, events: followEvents(database, follower, { start, restMs: beatMs }) }), ended),
    }
  },
})

function lastEventId({ request }: Context, inQuery: string | undefined) {
  const header = request.patience?.last_event_id ?? null
  const text = header ?? inQuery ?? null
  return text === null ? null : { text, id: parseEventId(header === null ? 'last_event_id' : 'Last-Event-ID', text) }
}

async function startNow(database: Database): Promise<Start> {
  const since = readMoment(await currentSnapshot(database))
  return { after: { transaction_id: since.lowest, position: 0, item: null }, since }
}

/** Without an id: a client that breaks off right here comes back with the old one, and is told again. */
const gapAfter = (last_event_id: string): string => `event: stream.gap\ndata: ${JSON.stringify({ last_event_id })}\n\n`

interface Written {
  opening: string
  events: ReturnType<typeof followEvents>
}

async function* write({ request }: Context, { opening, events }: Written): AsyncGenerator<string> {
  yield opening
  for await (const some of events) {
    if ((await request.patience?.isStillGood()) === false) return
    if (some === quiet) yield ': still here\n\n'
    else yield* inChunks(some.map(textOf))
  }
}

type Told = Parameters<typeof envelopeOf>[0]

/** JSON has no line breaks of its own, so that an event is three lines whatever strangers write. */
function textOf(event: Told): string {
  const envelope = envelopeOf(event)
  return `id: ${envelope.id}\nevent: ${envelope.type}\ndata: ${JSON.stringify(envelope)}\n\n`
}

function* inChunks(texts: string[]): Generator<string> {
  let chunk = ''
  for (const text of texts) {
    chunk += text
    if (chunk.length < chunkLetters) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

/** Ends well when everything is said; breaks off when the reader does not take what it was handed. */
function bodyOf(texts: AsyncGenerator<string>, ended: AbortSignal): Readable {
  const handing = async function* () {
    for await (const text of texts) {
      const timer = setTimeout(() => body.destroy(), stalledMs)
      try {
        yield text
      } finally {
        clearTimeout(timer)
      }
    }
  }
  const body = Readable.from(handing())
  ended.addEventListener('abort', () => setTimeout(() => body.destroy(), farewellMs).unref(), { once: true })
  return body
}

const parts = new WeakMap<Database, { tail: EventTail; seats: Seats }>()

/** One reader of the outbox for all streams of this process. */
function partsOf({ database, log }: Context) {
  const known = parts.get(database)
  if (known) return known
  const made = {
    tail: new EventTail(database, log),
    seats: new Seats({
      ofKey: 20,
      ofProject: 100,
      ofProcess: 1_000,
      doing: 'follows events',
      tooMany: 'Too many requests follow events just now. Come back in a moment.',
    }),
  }
  parts.set(database, made)
  return made
}
