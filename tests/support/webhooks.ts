import type { ServerResponse } from 'node:http'
import { parseId, type WebhookId } from '../../server/base/ids.ts'
import type { EventType } from '../../server/events/catalogue.ts'
import { publishBulk } from '../../server/events/publish.ts'
import { testType } from '../../server/features/webhooks/webhook.ts'
import { tellIn } from './event-log.ts'
import type { TestApp } from './posthaste.ts'
import type { TestProject } from './project.ts'
import { until } from './until.ts'
import { type ReceivedCall, startWebhookPeer } from './webhook-peer.ts'

export type Reply = (response: ServerResponse, call: ReceivedCall) => void

export const answerWith =
  (status: number, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(status, headers).end(status === 204 ? undefined : 'so be it')

/** One webhook with an endpoint of its own, which answers as it is told to. */
export interface TestEndpoint {
  id: string
  uuid: WebhookId
  secret: string
  reply: Reply
  /** What came, without tests. */
  received(): ReceivedCall[]
  /** Once so many have come. */
  calls(count: number): Promise<ReceivedCall[]>
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of a body, the assertion says
  detail(): Promise<any>
  /** Newest first, without tests. */
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of a body, the assertion says
  deliveries(): Promise<any[]>
}

/** Makes webhooks that lead to endpoints on loopback; for a program with ALLOW_PRIVATE_WEBHOOKS. */
export async function createEndpoints() {
  const peer = await startWebhookPeer()
  const endpoints = new Map<string, TestEndpoint>()
  peer.reply = (response, call) => (endpoints.get(call.path)?.reply ?? answerWith(204))(response, call)
  return async (project: TestProject, ...events: EventType[]): Promise<TestEndpoint> => {
    const path = `/hook-${endpoints.size + 1}`
    const isOurs = (call: ReceivedCall) => call.path === path && call.body.type !== testType
    const received = () => peer.received.filter(isOurs)
    const made: TestEndpoint = {
      id: '',
      uuid: '' as WebhookId,
      secret: '',
      reply: answerWith(204),
      received,
      calls: (count) => until(`${count} calls at ${path}`, () => received().length >= count && received()),
      detail: async () => (await project.get(`/webhooks/${made.id}`)).body,
      deliveries: async () =>
        (await project.get(`/webhooks/${made.id}/deliveries?limit=100`)).body.filter(
          ({ event_type }: { event_type: string }) => event_type !== testType,
        ),
    }
    endpoints.set(path, made)
    const { status, body } = await project.post('/webhooks', { url: peer.url + path, events })
    if (status !== 201) throw new Error(`No webhook: ${status} ${JSON.stringify(body)}`)
    // Whatever a test then counts, this is over.
    await until('the test', () => peer.received.some((call) => call.path === path))
    return Object.assign(made, { id: body.id, uuid: parseId('whk', body.id), secret: body.secret })
  }
}

/** Events that differ in their name only, as one row of the outbox. */
export const tellOfMany = (app: TestApp, { id }: TestProject, names: string[]): Promise<void> =>
  app.services.database.transaction((tx) =>
    publishBulk(tx, id, 'contact_group.created', { template: { name: '$0' }, rows: names.map((name) => [name]) }),
  )

/** One event of the same type, in a row of its own. */
export const tellOf = async ({ services: { database } }: TestApp, { id }: TestProject, name: string): Promise<void> => {
  await database.transaction((tx) => tellIn(tx, id, name))
}

export const namesOf = (calls: ReceivedCall[]): string[] => calls.map(({ body }) => body.data.name)

/** Until it is so, while time flies: for what waits between attempts. */
export const asTimePasses = <Seen>({ clock }: TestApp, what: string, look: () => Promise<Seen>) =>
  until(
    what,
    async () => {
      clock.advance(60_000)
      return look()
    },
    { everyMs: 50, withinMs: 60_000 },
  )
