import { ApiError } from '../../base/errors.ts'
import { readSesNotification } from '../../mail/reports/ses-notification.ts'
import type { Services } from '../../operations/context.ts'
import { createMetadataFetch } from '../oauth/index.ts'
import { applyReport, cachedProjectFinder, findMailKey } from '../recipients/index.ts'
import { createSigningKeys, type Fetch, isCertificatePath, snsUrl } from './sns-host.ts'
import { isSignedBy, SnsMessage } from './sns-message.ts'

/** SNS goes on trying for less than an hour. Whoever sends an older one has kept it. */
const longestAgeMs = 3_600_000
/** Two clocks are never the same. */
const mostAheadMs = 300_000

type Needs = Pick<Services, 'database' | 'secrets' | 'clock' | 'log' | 'config' | 'guardedFetch'>

/**
 * Takes in what Amazon SNS tells about mail that left through SES: bounces and complaints are applied to the message whose token they
 * carry, once, however often they come. Throws an ApiError for what is not from a topic of ours, and changes nothing then.
 */
export function createSnsReceiver(services: Needs): (body: unknown) => Promise<void> {
  const { config, clock } = services
  const fetch: Fetch = createMetadataFetch(services.guardedFetch)
  const signingKey = createSigningKeys({ fetch, clock })
  const findProject = cachedProjectFinder(services.database)

  const refuseForged = async (message: SnsMessage): Promise<void> => {
    refuseOtherTopics(message, config.SES_TOPICS)
    refuseWrongTime(message, clock.now())
    const url = snsUrl(message.SigningCertURL, message.TopicArn, config.SNS_HOST)
    if (!url || !isCertificatePath(url)) throw new ApiError('forbidden', 'SigningCertURL is not an address of Amazon SNS.')
    if (!isSignedBy(await signingKey(url), message))
      throw new ApiError('forbidden', 'The signature does not match the message. Only Amazon SNS may post here.')
  }

  const apply = async (text: string): Promise<void> => {
    const notification = readSesNotification(text)
    const key = notification && (await findMailKey(services, { token: notification.token, purpose: 'return_path' }, findProject))
    if (key) await applyReport(services, key, notification.report)
  }

  return async (body) => {
    const { success, data: message } = SnsMessage.safeParse(body)
    if (!success) throw new ApiError('validation_error', 'body: is not a message of Amazon SNS', { field: 'body' })
    await refuseForged(message)
    if (message.Type === 'Notification') return apply(message.Message)
    if (message.Type === 'SubscriptionConfirmation') return confirm(services, fetch, message)
    services.log.warn({ topic: message.TopicArn }, 'Amazon SNS sends nothing of this topic any more: somebody has unsubscribed us')
  }
}

function refuseOtherTopics({ TopicArn }: SnsMessage, topics: string[]): void {
  if (!topics.includes(TopicArn)) throw new ApiError('forbidden', 'This topic is not one of SES_TOPICS.')
}

function refuseWrongTime({ Timestamp }: SnsMessage, now: Date): void {
  const ageMs = now.getTime() - Date.parse(Timestamp)
  if (ageMs > longestAgeMs) throw new ApiError('forbidden', 'This message is more than an hour old.')
  if (ageMs < -mostAheadMs) throw new ApiError('forbidden', 'This message is from the future. Check the clock of this server.')
}

/** Says yes to a topic that the operator has named, by looking at the address that SNS sent with its signature. */
async function confirm({ config, log }: Needs, fetch: Fetch, { SubscribeURL, TopicArn }: SnsMessage): Promise<void> {
  const url = snsUrl(SubscribeURL ?? '', TopicArn, config.SNS_HOST)
  if (url?.searchParams.get('Action') !== 'ConfirmSubscription')
    throw new ApiError('forbidden', 'SubscribeURL is not an address of Amazon SNS that confirms a subscription.')
  try {
    await fetch(url)
  } catch (cause) {
    throw new ApiError('service_unavailable', 'The subscription could not be confirmed. Try again in a minute.', { cause })
  }
  log.warn({ topic: TopicArn }, 'Amazon SNS is subscribed: bounces and complaints of this topic come in')
}
