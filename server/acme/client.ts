import type { KeyObject } from 'node:crypto'
import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { Authorization, Challenge, Directory, Order, Problem, RenewalInfo } from './answers.ts'
import { createExchanges, type ExchangeAnswer } from './exchange.ts'
import { type AcmeAccount, signRequest } from './jws.ts'
import { AcmeProblem, retryAfterMs } from './problem.ts'

/** What was answered, and how long to wait before the same is asked again, where the authority says so. */
export type Told<Value> = Value & { retryAfterMs: number | null }

/** One certificate authority (RFC 8555). Each function is one question, with a nonce fetched before it at most; what fails is an AcmeProblem. */
export interface Acme {
  directoryUrl: string
  directory(): Promise<Directory>
  /** Where the account of this key is; made when there is none yet. */
  newAccount(key: KeyObject, contact: string | null): Promise<string>
  newOrder(account: AcmeAccount, wanted: { host: string; replaces?: string | null }): Promise<Told<Order & { url: string }>>
  order(account: AcmeAccount, url: string): Promise<Told<Order>>
  authorization(account: AcmeAccount, url: string): Promise<Told<Authorization>>
  /** RFC 8555 section 7.5.2: what was proved counts no more. */
  deactivate(account: AcmeAccount, authorizationUrl: string): Promise<void>
  /** Tells the authority that it may look. */
  beginCheck(account: AcmeAccount, challengeUrl: string): Promise<void>
  finalize(account: AcmeAccount, url: string, csr: Buffer): Promise<Told<Order>>
  /** The chain, as text. */
  certificate(account: AcmeAccount, url: string): Promise<string>
  /** RFC 9773; null where the authority does not offer it. */
  renewalInfo(certificateId: string): Promise<Told<RenewalInfo> | null>
  close(): void
}

interface Settings {
  directoryUrl: string
  /** A root that is trusted beside the usual ones, as PEM. */
  ca: string | null
  clock: Clock
}

interface Asked {
  key: KeyObject
  kid: string | null
  url: string
  payload: object | null
}

const directoryGoodForMs = 60 * 60_000
/** An authority may refuse any nonce; five times in a row is trouble. */
const mostNonces = 6
const mostKeptNonces = 8

export function createAcme({ directoryUrl, ca, clock }: Settings): Acme {
  const { exchange, close } = createExchanges({ ca, userAgent: 'posthaste (RFC 8555)' })
  const nonces: string[] = []
  let known: { directory: Promise<Directory>; at: number } | null = null

  const waitOf = (answer: ExchangeAnswer) => retryAfterMs(answer.header('retry-after'), clock.now())

  const directory = (): Promise<Directory> => {
    if (known && performance.now() - known.at < directoryGoodForMs) return known.directory
    const asked = exchange({ url: directoryUrl, method: 'GET' }).then((answer) => read(good(answer, waitOf), Directory, 'the directory'))
    known = { directory: asked, at: performance.now() }
    asked.catch(() => {
      known = null
    })
    return asked
  }

  const keepNonce = (answer: ExchangeAnswer) => {
    const nonce = answer.header('replay-nonce')
    if (nonce && nonces.length < mostKeptNonces) nonces.push(nonce)
  }

  const takeNonce = async (): Promise<string> => {
    const kept = nonces.pop()
    if (kept !== undefined) return kept
    const answer = await exchange({ url: (await directory()).newNonce, method: 'HEAD' })
    const nonce = good(answer, waitOf).header('replay-nonce')
    if (!nonce) throw new AcmeProblem('malformedAnswer', 'The certificate authority gave no nonce')
    return nonce
  }

  const post = async ({ key, kid, url, payload }: Asked): Promise<ExchangeAnswer> => {
    for (let time = 1; ; time++) {
      const body = signRequest({ key, kid, url, payload, nonce: await takeNonce() })
      const answer = await exchange({ url, method: 'POST', body })
      keepNonce(answer)
      try {
        return good(answer, waitOf)
      } catch (error) {
        // RFC 8555 section 6.5: the answer brings the nonce to try again with. Older ones are worth no more than the one that was refused.
        if (!(error instanceof AcmeProblem) || error.type !== 'badNonce' || time === mostNonces) throw error
        nonces.splice(0, nonces.length - 1)
      }
    }
  }

  const ask = async <Schema extends z.ZodType<object>>(
    { key, url: kid }: AcmeAccount,
    asked: { url: string; payload: object | null },
    { schema, what }: { schema: Schema; what: string },
  ): Promise<Told<z.output<Schema>>> => {
    const answer = await post({ key, kid, ...asked })
    return { ...read(answer, schema, what), retryAfterMs: waitOf(answer) }
  }

  return {
    directoryUrl,
    directory,
    async newAccount(key, contact) {
      const payload = { termsOfServiceAgreed: true, ...(contact === null ? {} : { contact: [`mailto:${contact}`] }) }
      return locationOf(await post({ key, kid: null, url: (await directory()).newAccount, payload }), 'the account')
    },
    async newOrder({ key, url: kid }, { host, replaces }) {
      const payload = { identifiers: [{ type: 'dns', value: host }], ...(replaces ? { replaces } : {}) }
      const answer = await post({ key, kid, url: (await directory()).newOrder, payload })
      return { ...read(answer, Order, 'the order'), url: locationOf(answer, 'the order'), retryAfterMs: waitOf(answer) }
    },
    order: (account, url) => ask(account, { url, payload: null }, { schema: Order, what: 'the order' }),
    authorization: (account, url) => ask(account, { url, payload: null }, { schema: Authorization, what: 'the authorisation' }),
    async deactivate(account, url) {
      await ask(account, { url, payload: { status: 'deactivated' } }, { schema: Authorization, what: 'the authorisation' })
    },
    async beginCheck(account, url) {
      await ask(account, { url, payload: {} }, { schema: Challenge, what: 'the challenge' })
    },
    finalize: (account, url, csr) =>
      ask(account, { url, payload: { csr: csr.toString('base64url') } }, { schema: Order, what: 'the order' }),
    certificate: async ({ key, url: kid }, url) => (await post({ key, kid, url, payload: null })).text,
    async renewalInfo(certificateId) {
      const { renewalInfo } = await directory()
      if (renewalInfo === undefined) return null
      const answer = await exchange({ url: `${renewalInfo.replace(/\/$/, '')}/${certificateId}`, method: 'GET' })
      return { ...read(good(answer, waitOf), RenewalInfo, 'the renewal information'), retryAfterMs: waitOf(answer) }
    },
    close,
  }
}

/** The answer, unless it is a problem (RFC 8555 section 6.7). */
function good(answer: ExchangeAnswer, waitOf: (answer: ExchangeAnswer) => number | null): ExchangeAnswer {
  const { status } = answer
  if (status >= 200 && status < 300) return answer
  const told = Problem.safeParse(parseJson(answer.text))
  const prefix = 'urn:ietf:params:acme:error:'
  const type = told.success && told.data.type?.startsWith(prefix) ? told.data.type.slice(prefix.length) : `http${status}`
  const detail = (told.success && told.data.detail) || `The certificate authority answered with status ${status}`
  throw new AcmeProblem(type, plain(detail), { status, retryAfterMs: waitOf(answer) })
}

/** It is shown to people, and kept: one line of bounded length. */
export const plain = (text: string): string => text.replace(/[\x00-\x1f\x7f]+/g, ' ').slice(0, 500)

function read<Schema extends z.ZodType>(answer: ExchangeAnswer, schema: Schema, what: string): z.output<Schema> {
  const parsed = schema.safeParse(parseJson(answer.text))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new AcmeProblem('malformedAnswer', `The certificate authority answered ${what} in a form that cannot be read`, {
    cause: `${issue?.path.join('.')}: ${issue?.message}`,
  })
}

function locationOf(answer: ExchangeAnswer, what: string): string {
  const location = answer.header('location') ?? ''
  if (!location.startsWith('https://')) throw new AcmeProblem('malformedAnswer', `The certificate authority did not say where ${what} is`)
  return location
}

/** Null for what is no JSON: every schema refuses it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
