import { createServer as createProbe } from 'node:net'
import { after } from 'node:test'
import { Challenge, Credential } from 'mppx'
import { z } from 'zod'
import type { Transaction } from '../../server/database/database.ts'
import { bookEmails, createAuthenticatePayer } from '../../server/features/payments/index.ts'
import { createAuthenticate } from '../../server/features/tokens/index.ts'
import { startRateLimit } from '../../server/http/rate-limit.ts'
import { createServer } from '../../server/http/server.ts'
import { Answer, defineOperation } from '../../server/operations/define-operation.ts'
import type { TestApp } from './posthaste.ts'
import { type Answer as HttpAnswer, speaking, type TestProject } from './project.ts'

type Work = (tx: Transaction) => Promise<void>

/** Operations that can be paid for and do nothing but book: as many e-mails as the body says. `work` runs where a send would. */
export const payableOperations = (work: Work = async () => {}) =>
  ['first', 'second'].map((name) =>
    defineOperation({
      id: `${name}.send`,
      method: 'POST',
      path: `/${name}/{target}/send`,
      scope: 'send',
      isPayable: true,
      summary: 'Book e-mails',
      params: z.object({ target: z.string() }),
      body: z.object({ count: z.number().default(1), note: z.string().optional() }),
      result: z.object({ count: z.number() }),
      status: 202,
      errors: ['limit_exceeded', 'spending_cap_reached'],
      async run(context, { params, body: { count } }) {
        const purchase = { operation: `${name}.send`, target: params.target, count }
        const { receipt } = await bookEmails(context, purchase, (tx) => work(tx))
        return new Answer({ count }, { receipt })
      },
    }),
  )

/** A server with these operations over the services of a running program. Answers its address. */
export async function startPayable({ services }: TestApp, work?: Work): Promise<string> {
  const { database, clock, log } = services
  const rateLimit = startRateLimit({ database, clock, log, limit: 1_000_000 })
  const server = createServer({
    services,
    operations: payableOperations(work),
    authenticate: createAuthenticate({ database, clock, log }),
    authenticatePayer: createAuthenticatePayer(services),
    rateLimit,
    trouble: () => null,
    isReady: async () => null,
    pages: [],
    showError: () => null,
  })
  after(async () => {
    rateLimit.stop()
    await server.close()
  })
  return server.listen({ port: await freePort(), host: '127.0.0.1' })
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const probe = createProbe().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })

/** One who sends through a payable server, with or without paying. */
export function sender(url: string, project: Pick<TestProject, 'key'>, path = '/first/a/send') {
  const { request } = speaking(url, project.key)
  const send = (body: object, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    request('POST', path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })
  const pay = (body: object, credential: string) => send(body, { 'payment-authorization': credential })
  /** Asked to pay, pays. */
  const sendAndPay = async (body: object, spt = 'spt_good') => pay(body, credentialFor(await send(body), spt))
  return { send, pay, sendAndPay }
}

export const challengeOf = ({ headers }: HttpAnswer) => Challenge.deserialize(headers.get('www-authenticate') ?? '')

/** Made by somebody else's library, from somebody else's reading of the draft. */
export const credentialFor = (refusal: HttpAnswer, spt: string): string =>
  Credential.serialize({ challenge: challengeOf(refusal), payload: { spt } })

/** A project on the free plan that has sent so much already: with a hundred, nothing is left. */
export async function useUp({ services }: TestApp, { id, setPlan }: TestProject, used = 100): Promise<void> {
  await setPlan('free')
  const now = services.clock.now()
  const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))
  await services.database.run`
    insert into usage_periods (project_id, period_start, used, owner_id)
    select id, ${start}, ${used}, owner_id from projects where id = ${id}
    on conflict (project_id, period_start) do update set used = usage_periods.used + ${used}`
}

export const usageOf = async ({ services }: TestApp, { id }: TestProject) =>
  services.database.first<{ used: number; overage: number; paid: number }>`
    select used::int, overage::int, paid::int from usage_periods where project_id = ${id}`

export const challengesOf = async ({ services }: TestApp, { id }: TestProject) =>
  services.database.many<{ id: string; status: string; amount_cents: number; emails: number }>`
    select id, status, amount_cents, emails from payment_challenges where project_id = ${id} order by created_at`
