import { createPrivateKey } from 'node:crypto'
import {
  AcmeProblem,
  type Authorization,
  dnsChallengeValue,
  keyAuthorization,
  makeCsr,
  newKey,
  type Order,
  plain,
  readChain,
  renewalId,
} from '../../acme/index.ts'
import { pemOf } from './account.ts'
import {
  type CertificateRow,
  type ChallengeKind,
  dayMs,
  laterBy,
  nextLook,
  nextTryAfterTrouble,
  type OpenOrder,
  renewalTime,
  renewalTimeWithin,
  type Step,
} from './certificate.ts'
import { caaProblem } from './check-caa.ts'
import { isShared, orderWithOwnProof, placeOrder, type Turn, waitForBound, whenOrderAllowed } from './place-order.ts'
import { hasChallengeRecord, leadsHere, type Readiness } from './proof.ts'
import { isDeserted } from './subdomains.ts'

/** What is different after a step. */
export type Change = Partial<Omit<CertificateRow, 'host' | 'project_id' | 'target' | 'challenges' | 'created_at'>> & {
  /** What the authority will fetch from us, to be answered by any process from now on. */
  challenge?: { token: string; key_authorization: string }
  /** Nobody wants it any more. */
  isUnwanted?: true
}

/** The order came to nothing, for a reason that is the host's; the next one waits. */
export class OrderFailed extends Error {}

const pollMs = 2_000
/** An authority that needs longer than this has forgotten us. */
const patienceMs = 30 * 60_000
/** So often an order may go back to an earlier step. */
const mostTurns = 5
const renewalLookMs = { least: 60 * 60_000, most: dayMs }

export const steps: Record<Step, (turn: Turn) => Promise<Change>> = {
  idle: (turn) => (turn.row.renew_at !== null && turn.row.renew_at > turn.now ? askWhenToRenew(turn) : beginOrder(turn)),
  ordered: readChallenges,
  proving: proveWhenReady,
  checking: lookAtAuthorization,
  finalizing: sendRequest,
  issuing: lookAtOrder,
  downloading: download,
}

/** The authority may want a certificate replaced earlier, or later, than we would. */
async function askWhenToRenew({ acme, row, now }: Turn): Promise<Change> {
  const { renew_at, not_before, not_after, issued_at, chain } = row
  if (renew_at === null || not_before === null || not_after === null || issued_at === null || chain === null) return {}
  const id = renewalId(chain)
  const told = id === null ? null : await acme.renewalInfo(id).catch(() => null) // two thirds of its life will do
  if (told === null) return { due_at: earlier(renew_at, laterBy(now, renewalLookMs.most)), troubles: 0 }
  const { suggestedWindow, retryAfterMs } = told
  const chosen = renewalTimeWithin(suggestedWindow, { renew_at, not_before, not_after, issued_at }, Math.random())
  const waitMs = Math.min(Math.max(retryAfterMs ?? renewalLookMs.most / 4, renewalLookMs.least), renewalLookMs.most)
  return { renew_at: chosen, due_at: earlier(chosen, laterBy(now, waitMs)), troubles: 0 }
}

async function beginOrder(turn: Turn): Promise<Change> {
  const { services, acme, row, now } = turn
  if (await isDeserted(services, row)) return { isUnwanted: true }
  const allowed_at = await whenOrderAllowed(turn)
  if (allowed_at > now) return waitForBound(turn, allowed_at)
  const { meta } = await acme.directory()
  const forbidden = await caaProblem(services.dns, row.host, meta?.caaIdentities ?? [])
  if (forbidden !== null) return waitForOwner(turn, forbidden)
  // The first time, the owner has to be told the value of a TXT record. Else the order waits until it has a chance: one that is renewed
  // leads here already, unless the host has left.
  const isRecordNeeded = row.chain === null && row.challenges.includes('dns-01')
  if (!isRecordNeeded && row.challenges.includes('http-01')) {
    const place = await leadsHere(services.dns, row.host, row.target)
    if (!place.isReady) return waitForOwner(turn, place.reason)
  }
  return { ...at('ordered', now), ...(await placeOrder(turn)) }
}

async function readChallenges(turn: Turn): Promise<Change> {
  const { acme, account, row, now } = turn
  const ordered = orderOf(row)
  const owner = await account()
  const authorization = await acme.authorization(owner, ordered.authorization)
  const { status } = authorization
  const offered = (kind: string) => authorization.challenges.find(({ type, token }) => type === kind && token !== undefined)
  const http = row.challenges.includes('http-01') ? offered('http-01') : undefined
  const dns = row.challenges.includes('dns-01') ? offered('dns-01') : undefined
  const authorize = (token = '') => keyAuthorization(owner.key, token)
  const value = status === 'pending' && dns?.token ? dnsChallengeValue(authorize(dns.token)) : undefined
  const another = await orderWithOwnProof(turn, ordered, { status, ...(value === undefined ? {} : { value }) })
  if (another) return { ...at('ordered', now), ...another }
  if (status !== 'pending') return afterAuthorization(turn, authorization)
  if (!http && !dns) throw new OrderFailed(`The certificate authority does not offer ${row.challenges.join(' or ')} for ${row.host}.`)
  return {
    ...at('proving', now),
    ordered: {
      ...ordered,
      expires_at: earlier(new Date(ordered.expires_at), authorization.expires ?? new Date(ordered.expires_at)).toISOString(),
      ...(http?.token ? { http: { url: http.url, token: http.token } } : {}),
      ...(dns && value !== undefined ? { dns: { url: dns.url, value } } : {}),
      ...(value !== undefined && (await isShared(turn, ordered, value)) ? { isShared: true } : {}),
    },
    ...(http?.token ? { challenge: { token: http.token, key_authorization: authorize(http.token) } } : {}),
  }
}

/** Whichever proof is there first. The authority is told only when it will find it. */
async function proveWhenReady(turn: Turn): Promise<Change> {
  const { services, acme, account, row, now } = turn
  const ordered = orderOf(row)
  const { http, dns } = ordered
  const proofs: { kind: ChallengeKind; url: string; look(): Promise<Readiness> }[] = [
    ...(http ? [{ kind: 'http-01' as const, url: http.url, look: () => leadsHere(services.dns, row.host, row.target) }] : []),
    ...(dns ? [{ kind: 'dns-01' as const, url: dns.url, look: () => hasChallengeRecord(services.dns, row.host, dns.value) }] : []),
  ]
  const missing: string[] = []
  for (const { kind, url, look } of proofs) {
    const found = await look()
    if (found.isReady) {
      const owner = await account()
      // Told before, by somebody who did not live to see the answer: the authorisation says what came of it.
      await acme.beginCheck(owner, url).catch((error: unknown) => {
        if (!(error instanceof AcmeProblem) || error.isPassing || error.type === 'accountDoesNotExist') throw error
      })
      return { ...at('checking', now), ordered: { ...ordered, asked: kind } }
    }
    missing.push(found.reason)
  }
  return waitForOwner(turn, missing.join(' '))
}

async function lookAtAuthorization(turn: Turn): Promise<Change> {
  const { acme, account, row } = turn
  const ordered = orderOf(row)
  const authorization = await acme.authorization(await account(), ordered.authorization)
  const change = afterAuthorization(turn, authorization)
  // It was open when we answered it: what made it valid is the record that this project was told, and no other.
  const isProved =
    authorization.status === 'valid' &&
    ordered.asked === 'dns-01' &&
    ordered.isShared !== true &&
    authorization.challenges.some(({ type, status }) => type === 'dns-01' && status === 'valid')
  return isProved ? { ...change, is_proved: true } : change
}

function afterAuthorization(turn: Turn, { status, challenges, retryAfterMs }: Authorization & { retryAfterMs: number | null }): Change {
  if (status === 'valid') return { ...at('finalizing', turn.now), ...keyFor(turn) }
  if (status === 'pending') return lookAgain(turn, retryAfterMs)
  const told = challenges.find(({ error }) => error !== undefined)?.error?.detail
  throw new OrderFailed(told ? `The certificate authority says: ${plain(told)}` : `The certificate authority’s check is ${status}.`)
}

/** Made and kept before it is used: whoever takes over after a crash must have the key of what the authority issues. */
const keyFor = ({ services: { secrets }, row }: Turn): Pick<CertificateRow, 'order_key'> => ({
  order_key: row.order_key ?? secrets.seal('certificate', row.host, pemOf(newKey())),
})

async function sendRequest(turn: Turn): Promise<Change> {
  const { acme, account, row } = turn
  try {
    return afterOrder(turn, await acme.finalize(await account(), orderOf(row).finalize, makeCsr(row.host, orderKey(turn))))
  } catch (error) {
    // Sent before, by somebody who did not live to see the answer; or too early. The order itself says which.
    if (error instanceof AcmeProblem && error.type === 'orderNotReady') return goBack(turn, 'issuing')
    throw error
  }
}

async function lookAtOrder(turn: Turn): Promise<Change> {
  const { acme, account, row } = turn
  return afterOrder(turn, await acme.order(await account(), orderOf(row).url))
}

function afterOrder(turn: Turn, { status, certificate, error, retryAfterMs }: Order & { retryAfterMs: number | null }): Change {
  const { row, now } = turn
  if (status === 'valid' && certificate !== undefined) return { ...at('downloading', now), ordered: { ...orderOf(row), certificate } }
  if (status === 'invalid')
    throw new OrderFailed(`The certificate authority says: ${plain(error?.detail ?? 'the order is not valid any more')}`)
  if (status === 'processing' && row.step !== 'issuing') return { ...at('issuing', now), due_at: laterBy(now, waitFor(retryAfterMs)) }
  if (status === 'ready' && row.step === 'issuing') return goBack(turn, 'finalizing')
  if (status === 'pending') return goBack(turn, 'ordered')
  return lookAgain(turn, retryAfterMs)
}

async function download(turn: Turn): Promise<Change> {
  const { services, acme, account, row, now } = turn
  const key = orderKey(turn)
  const text = await acme.certificate(await account(), orderOf(row).certificate ?? '')
  const { pem, not_before, not_after } = readChain(text, { host: row.host, key })
  const renew_at = renewalTime({ not_before, not_after }, Math.random())
  // It would be renewed at once, and again: what is issued now is neither over nor old.
  if (renew_at <= now)
    throw new OrderFailed(`The certificate that came is good until ${not_after.toISOString().slice(0, 10)} only: ${clockDiffers(now)}`)
  return {
    ...at('idle', now),
    private_key: services.secrets.seal('certificate', row.host, pemOf(key)),
    chain: pem,
    not_before,
    not_after,
    issued_at: now,
    renew_at,
    // A sign of life comes from askWhenToRenew once a day.
    due_at: earlier(renew_at, laterBy(now, renewalLookMs.least)),
    order_key: null,
    failures: 0,
    failed_at: [],
    held_until: null,
    warnings: 0,
  }
}

/** On to another step, at once. */
const at = (step: Step, now: Date): Change & Pick<CertificateRow, 'step'> => ({
  step,
  step_since: now,
  due_at: now,
  troubles: 0,
  problem: null,
})

/**
 * What the authority says of an order and of its parts does not go together. After a crash that is so once; else it is believed more and more
 * slowly, and not for ever.
 */
function goBack({ row, now }: Turn, step: Step): Change {
  const ordered = orderOf(row)
  const turns = (ordered.turns ?? 0) + 1
  if (turns > mostTurns) throw new OrderFailed('The certificate authority says by turns that the order is ready and that it is not.')
  return { ...at(step, now), due_at: turns === 1 ? now : nextTryAfterTrouble(turns, now), ordered: { ...ordered, turns } }
}

export const clockDiffers = (now: Date): string =>
  `the clock of this machine says ${now.toISOString().slice(0, 16).replace('T', ' ')} UTC, and that of the certificate authority something else. Whoever runs this installation has to set it right.`

const waitForOwner = ({ row, now }: Turn, problem: string): Change => ({ problem, due_at: nextLook(row.step_since, now), troubles: 0 })

function lookAgain({ row, now }: Turn, retryAfterMs: number | null): Change {
  if (now.getTime() - row.step_since.getTime() > patienceMs)
    throw new OrderFailed(`The certificate authority has been at the order for ${patienceMs / 60_000} minutes and does not end.`)
  return { due_at: laterBy(now, waitFor(retryAfterMs)), troubles: 0 }
}

const waitFor = (retryAfterMs: number | null): number => Math.min(Math.max(retryAfterMs ?? pollMs, 1_000), 5 * 60_000)

const earlier = (one: Date, other: Date): Date => (one < other ? one : other)

function orderOf({ ordered, host, step }: CertificateRow): OpenOrder {
  if (ordered === null) throw new OrderFailed(`The order for ${host} is lost at ${step}.`)
  return ordered
}

function orderKey({ services: { secrets }, row }: Turn) {
  if (row.order_key === null) throw new OrderFailed(`The key of the order for ${row.host} is lost.`)
  return createPrivateKey(secrets.open('certificate', row.host, row.order_key))
}
