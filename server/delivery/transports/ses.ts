import { domainToASCII } from 'node:url'
import type { GetAccountCommandOutput, SESv2Client } from '@aws-sdk/client-sesv2'
import { sesTokenHeader, sesTokenTag } from '../../mail/reports/ses-notification.ts'
import { parseVerp } from '../../mail/verp.ts'
import { FairQueue } from '../smtp/fair-queue.ts'
import { TokenBucket } from '../smtp/token-bucket.ts'
import { outcomeOfSesError } from './ses-outcome.ts'
import { parseSesUrl, type SesPlace } from './ses-url.ts'
import { wrongAddress } from './smtp.ts'
import { bounced, deferred, unbegun } from './smtp-outcome.ts'
import type { AboutMessage, Envelope, Outcome, Transport } from './transport.ts'

export interface SesLimits {
  connect_ms: number
  answer_ms: number
}
const defaultLimits: SesLimits = { connect_ms: 10_000, answer_ms: 60_000 }

/** Shorter than any server's patience: a connection that Amazon closes just when we use it loses an answer. */
const idleMs = 4_000
/** Amazon raises what a good sender may send a second; who may not ask for it is not asked all the time. */
const askAgainMs = 3_600_000
const askAfterFailureMs = 300_000

/** Sends through the API of Amazon SES, version 2. */
export const createSesTransport = (outbound: string, limits: Partial<SesLimits> = {}): Transport =>
  new SesTransport(parseSesUrl(outbound), { ...defaultLimits, ...limits })

interface Sdk {
  client: SESv2Client
  send(input: { to: string; token: string | null; data: Buffer }): Promise<string>
  account(): Promise<GetAccountCommandOutput>
}

interface Waiting {
  lane: string
  isStillWanted: (() => boolean) | undefined
  begin(turn: Turn): void
}

/** Begun; or not to be begun, because we close or because whoever gave it does not want it sent any more. */
type Turn = 'begun' | 'closed' | 'unwanted'

/**
 * SES writes its own return path, Message-ID and Date, and signs. So our return path is not used, only the token in it, which goes along
 * as a tag and a header field; and our signature, which SES would break, is taken off.
 */
class SesTransport implements Transport {
  readonly name = 'ses'
  readonly #place: SesPlace
  readonly #limits: SesLimits
  readonly #queue = new FairQueue<Waiting>(({ lane }) => lane)
  readonly #underWay = new Set<Promise<Outcome>>()
  #sdk: Promise<Sdk> | null = null
  #bucket: TokenBucket | null
  #rate: number | null
  #askAt = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #sending = 0
  #isClosed = false

  constructor(place: SesPlace, limits: SesLimits) {
    this.#place = place
    this.#limits = limits
    this.#rate = place.rate
    this.#bucket = place.rate === null ? null : new TokenBucket(place.rate, performance.now())
  }

  async send(envelope: Envelope, message: Buffer | readonly Buffer[], about: AboutMessage): Promise<Outcome> {
    const to = withAsciiDomain(envelope.to)
    const wrong = wrongAddress({ ...envelope, to }) ?? unfitRecipient(to)
    if (wrong) return wrong
    await this.#learnRate()
    const turn = await this.#turn(about)
    if (turn === 'unwanted') return unbegun
    if (turn === 'closed') return deferred('The sender is shutting down', 'send after close')
    const handingOver = this.#handOver({ to, token: parseVerp(envelope.from) }, message)
    this.#underWay.add(handingOver)
    const outcome = await handingOver
    this.#underWay.delete(handingOver)
    this.#sending--
    this.#pump()
    if (outcome.kind === 'delivered') about.onAccepted?.()
    return outcome
  }

  async #handOver({ to, token }: { to: string; token: string | null }, message: Buffer | readonly Buffer[]): Promise<Outcome> {
    try {
      const sdk = await this.#connect()
      const id = await sdk.send({ to, token, data: toRaw(message, token) })
      return { kind: 'delivered', smtp_code: null, response: id, message_id: messageIdOf(id, this.#place.region) }
    } catch (error) {
      return outcomeOfSesError(error, to)
    }
  }

  /** The SDK is large: it is loaded only where OUTBOUND names it, and with the first message. */
  #connect(): Promise<Sdk> {
    this.#sdk ??= loadSdk(this.#place, this.#limits).catch((error: unknown) => {
      this.#sdk = null
      throw error
    })
    return this.#sdk
  }

  /** As many a second as the account may send, unless OUTBOUND says. Only the first message waits for the answer. */
  async #learnRate(): Promise<void> {
    if (this.#place.rate !== null || performance.now() < this.#askAt || this.#isClosed) return
    const isFirst = this.#askAt === Number.NEGATIVE_INFINITY
    this.#asking ??= this.#askRate().finally(() => {
      this.#asking = null
    })
    if (isFirst) await this.#asking
  }

  async #askRate(): Promise<void> {
    try {
      const { SendQuota } = await (await this.#connect()).account()
      const rate = SendQuota?.MaxSendRate ?? 0
      if (rate > 0 && rate !== this.#rate) {
        this.#rate = rate
        this.#bucket = new TokenBucket(rate, performance.now())
      }
      this.#askAt = performance.now() + askAgainMs
    } catch {
      // The key may not ask, or nobody answers: what is sent too fast is put off, and says so itself.
      this.#askAt = performance.now() + askAfterFailureMs
    }
  }

  #turn({ lane = '', isStillWanted }: AboutMessage): Promise<Turn> {
    if (this.#isClosed) return Promise.resolve('closed')
    return new Promise((begin) => {
      this.#queue.add({ lane, isStillWanted, begin })
      this.#pump()
    })
  }

  #pump(): void {
    while (!this.#isClosed && this.#queue.length > 0 && this.#sending < this.#place.connections) {
      const waitMs = this.#bucket?.take(performance.now()) ?? 0
      if (waitMs > 0) {
        this.#timer ??= setTimeout(() => {
          this.#timer = null
          this.#pump()
        }, waitMs)
        return
      }
      this.#beginNext()
    }
  }

  #beginNext(): void {
    for (let next = this.#queue.take(); next; next = this.#queue.take()) {
      if (next.isStillWanted?.() !== false) {
        this.#sending++
        next.begin('begun')
        return
      }
      next.begin('unwanted')
    }
  }

  async verify(): Promise<void> {
    const { region } = this.#place
    let account: GetAccountCommandOutput
    try {
      account = await (await this.#connect()).account()
    } catch (error) {
      const { reason, detail } = outcomeOfSesError(error, '')
      throw new Error(`${reason}. (Amazon SES, ${region}: ${detail})`, { cause: error })
    }
    if (account.SendingEnabled === false || account.EnforcementStatus === 'SHUTDOWN')
      throw new Error(`Amazon SES has stopped sending for this account in ${region}; its console tells why.`)
    if (account.ProductionAccessEnabled === false)
      throw new Error(
        `Amazon SES in ${region} is a sandbox: it sends to verified addresses only. Request production access in its console.`,
      )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    for (const waiting of this.#queue.takeAll()) waiting.begin('closed')
    await Promise.allSettled([...this.#underWay, this.#asking])
    const sdk = await this.#sdk?.catch(() => null)
    sdk?.client.destroy()
  }
}

async function loadSdk(place: SesPlace, limits: SesLimits): Promise<Sdk> {
  const { GetAccountCommand, SendEmailCommand, SESv2Client } = await import('@aws-sdk/client-sesv2')
  const { region, key, endpoint, configuration_set, connections } = place
  const agent = { keepAlive: true, maxSockets: connections, timeout: idleMs }
  const client = new SESv2Client({
    region,
    ...(key ? { credentials: { accessKeyId: key.id, secretAccessKey: key.secret } } : {}),
    ...(endpoint ? { endpoint } : {}),
    // We try again ourselves, at times that the ledger knows.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: limits.connect_ms,
      requestTimeout: limits.answer_ms,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
  return {
    client,
    async send({ to, token, data }) {
      const { MessageId } = await client.send(
        new SendEmailCommand({
          Content: { Raw: { Data: data } },
          Destination: { ToAddresses: [to] },
          ...(configuration_set ? { ConfigurationSetName: configuration_set } : {}),
          ...(token ? { EmailTags: [{ Name: sesTokenTag, Value: token }] } : {}),
        }),
      )
      if (!MessageId) throw Object.assign(new Error('an answer without a MessageId'), { $metadata: { httpStatusCode: 200 } })
      return MessageId
    },
    account: () => client.send(new GetAccountCommand({})),
  }
}

/** As it stands in the mail that SES sends. The oldest region has a name of its own. */
const messageIdOf = (id: string, region: string): string => `${id}@${region === 'us-east-1' ? 'email' : region}.amazonses.com`

/** SES takes addresses in ASCII only, and reads them as a header field does: what would need quotes there could become two. */
function unfitRecipient(to: string): Outcome | null {
  const local = to.slice(0, to.lastIndexOf('@'))
  if (/[^\0-\x7f]/.test(to)) return bounced(553, '5.6.7', 'Amazon SES cannot take addresses outside ASCII', `to ${JSON.stringify(to)}`)
  if (/[",;:()[\]\\@]/.test(local)) return bounced(553, '5.1.3', 'The address is not valid', `to ${JSON.stringify(to)}`)
  return null
}

function withAsciiDomain(address: string): string {
  const at = address.lastIndexOf('@') + 1
  return address.slice(0, at) + (domainToASCII(address.slice(at)) || address.slice(at))
}

function toRaw(message: Buffer | readonly Buffer[], token: string | null): Buffer {
  const whole = withoutSignatures(Buffer.isBuffer(message) ? message : Buffer.concat(message))
  return token ? Buffer.concat([Buffer.from(`${sesTokenHeader}: ${token}\r\n`), whole]) : whole
}

/** They stand before all else (RFC 6376 section 5.6). A field goes on for as long as its lines begin with white space. */
function withoutSignatures(message: Buffer): Buffer {
  let rest = message
  while (/^DKIM-Signature:/i.test(rest.toString('latin1', 0, 15))) {
    let end = rest.indexOf('\r\n')
    while (end >= 0 && (rest[end + 2] === 0x20 || rest[end + 2] === 0x09)) end = rest.indexOf('\r\n', end + 2)
    if (end < 0) return message
    rest = rest.subarray(end + 2)
  }
  return rest
}
