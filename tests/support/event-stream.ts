import { setTimeout as sleep } from 'node:timers/promises'
import { until } from './until.ts'

export interface StreamedEvent {
  id: string
  event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of an event, the assertion says
  data: any
}

export interface EventStream {
  status: number
  headers: Headers
  events: StreamedEvent[]
  /** As it came. */
  text: string
  isOver: boolean
  leave(): void
}

interface Following {
  url: string
  key: string
  query?: string
  lastEventId?: string
}

/** A client of GET /v1/events/stream, as an EventSource is one. Resolves when the stream has begun, or was refused. */
export async function followEvents({ url, key, query = '', lastEventId }: Following): Promise<EventStream> {
  const leaving = new AbortController()
  const response = await fetch(`${url}/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${key}`, ...(lastEventId ? { 'last-event-id': lastEventId } : {}) },
    signal: leaving.signal,
  })
  const stream: EventStream = {
    status: response.status,
    headers: response.headers,
    events: [],
    text: '',
    isOver: false,
    leave: () => leaving.abort(),
  }
  void read(response, stream)
    .catch(() => {})
    .finally(() => {
      stream.isOver = true
    })
  await until('the stream to begin', () => stream.text !== '' || stream.isOver)
  return stream
}

async function read(response: Response, stream: EventStream): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const text = decoder.decode(chunk, { stream: true })
    stream.text += text
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() as string
    stream.events.push(...blocks.flatMap(readBlock))
  }
}

function readBlock(block: string): StreamedEvent[] {
  const fields = Object.fromEntries(block.split('\n').map((line) => [line.split(': ')[0], line.slice(line.indexOf(': ') + 2)]))
  return fields.data === undefined ? [] : [{ id: fields.id ?? '', event: fields.event ?? '', data: JSON.parse(fields.data) }]
}

/** Nothing more comes for a while. For what must not happen; what must is waited for with `until`. */
export async function staysAt(stream: EventStream, count: number): Promise<boolean> {
  await sleep(1_200)
  return stream.events.length === count
}
