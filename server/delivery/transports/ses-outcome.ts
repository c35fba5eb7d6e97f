import { bounced } from './smtp-outcome.ts'
import type { Outcome } from './transport.ts'

type Failure = Exclude<Outcome, { kind: 'delivered' }>

/** What the SDK throws: Amazon's answers by their names, and whatever failed below them by its code. */
interface SdkError {
  name?: string
  message?: string
  code?: string
  syscall?: string
  $metadata?: { httpStatusCode?: number }
  $response?: { statusCode?: number }
}

const wrongKey = 'Amazon SES refused the key; check key and secret in OUTBOUND'
const tooFast = 'Amazon SES asks to send more slowly'

/** True of every recipient at once, so never a bounce: somebody has to mend it, and the mail keeps. */
const reasonByName: Record<string, string> = {
  TooManyRequestsException: tooFast,
  ThrottlingException: tooFast,
  Throttling: tooFast,
  LimitExceededException: tooFast,
  AccountSuspendedException: 'Amazon has suspended the account; the SES console tells why',
  SendingPausedException: 'Sending is paused in Amazon SES, for the account or for the configuration set',
  MailFromDomainNotVerifiedException: 'The MAIL FROM domain is not verified in Amazon SES; check its DNS records',
  NotFoundException: 'Amazon SES does not know the configuration set; check configuration_set and the region in OUTBOUND',
  AccessDeniedException: 'The key may not send with Amazon SES; allow it ses:SendEmail and ses:SendRawEmail',
  AccessDenied: 'The key may not send with Amazon SES; allow it ses:SendEmail and ses:SendRawEmail',
  UnrecognizedClientException: wrongKey,
  InvalidClientTokenId: wrongKey,
  InvalidAccessKeyId: wrongKey,
  InvalidSignatureException: wrongKey,
  SignatureDoesNotMatch: wrongKey,
  IncompleteSignature: wrongKey,
  MissingAuthenticationTokenException: wrongKey,
  ExpiredTokenException: 'The key for Amazon SES has expired; renew it',
  ExpiredToken: 'The key for Amazon SES has expired; renew it',
  CredentialsProviderError: 'No key for Amazon SES was found; put it into OUTBOUND, or where the AWS SDK looks for it',
}

const notVerified = 'Amazon SES has not verified the sender, or still keeps the account in its sandbox; see the identities there'
const clockIsWrong = 'Amazon SES finds our clock wrong; set the time of this machine'
const quotaIsUsed = 'The daily quota of Amazon SES is used up'

/** `to` is who the message was for: only an answer that names them is about them. */
export function outcomeOfSesError(thrown: unknown, to: string): Failure {
  const error = thrown as SdkError
  const status = error.$metadata?.httpStatusCode ?? error.$response?.statusCode
  const { name = 'Error', message = '' } = error
  const detail = `${status === undefined ? '' : `${status} `}${name}: ${message}`
  // Nobody answered, unless the SDK itself found no key to ask with.
  if (status === undefined && reasonByName[name] === undefined) return outcomeOfSilence(error, detail)
  if (status !== undefined && status >= 500) return later('Amazon SES has trouble of its own', detail, status === 502 || status === 504)
  // It said yes and then something that cannot be read: whoever it was may have the message.
  if (status !== undefined && status < 300)
    return later('The endpoint gave an answer that is not one of Amazon SES; check OUTBOUND', detail, true)
  if (name === 'MessageRejected') return outcomeOfRejection(message, detail)
  if (name === 'BadRequestException' || name === 'ValidationException') return outcomeOfBadRequest({ message, detail, to })
  return later(reasonOf(name, message), detail)
}

function reasonOf(name: string, message: string): string {
  if (/signature (?:has )?(?:expired|not yet current)|RequestTimeTooSkewed/i.test(`${name} ${message}`)) return clockIsWrong
  const reason = reasonByName[name]
  if (reason === tooFast && /daily|24.hour|quota/i.test(message)) return quotaIsUsed
  return reason ?? 'Amazon SES did not take the message'
}

/** One name for the state of the account and for what it thinks of the content. */
function outcomeOfRejection(message: string, detail: string): Failure {
  if (/not verified/i.test(message)) return later(notVerified, detail)
  if (/suspended|paused|disabled/i.test(message)) return later('Sending is paused in Amazon SES; the console tells why', detail)
  return isTooLarge(message) ? tooLarge(detail) : bounced(554, '5.7.1', 'Amazon SES refused the message', detail)
}

function outcomeOfBadRequest({ message, detail, to }: { message: string; detail: string; to: string }): Failure {
  if (isTooLarge(message)) return tooLarge(detail)
  if (message.toLowerCase().includes(to.toLowerCase())) return bounced(553, '5.1.3', 'The address is not valid', detail)
  return later('Amazon SES does not understand the request', detail)
}

const isTooLarge = (message: string): boolean => /message (?:length|size)|too (?:long|large)/i.test(message)
const tooLarge = (detail: string): Failure => bounced(552, '5.3.4', 'The message is too large', detail)

/** Before a connection stood, nothing was sent. After it, the whole message may have been. */
function outcomeOfSilence(error: SdkError, detail: string): Failure {
  const { code = '', name, message = '', syscall = '' } = error
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return later('The name of Amazon SES was not found; check the region and the network', detail)
  if (/^(?:CERT|DEPTH_ZERO|ERR_TLS|ERR_SSL|SELF_SIGNED|UNABLE_TO|HOSTNAME)|^EPROTO$/.test(code))
    return later('The encrypted connection to Amazon SES failed; check the endpoint in OUTBOUND', detail)
  const isUnconnected = syscall === 'connect' || code === 'ECONNREFUSED' || /without establishing a connection/i.test(message)
  if (isUnconnected) return later('Amazon SES cannot be reached; check the network, and the endpoint in OUTBOUND', detail)
  if (name === 'TimeoutError' && code !== 'ECONNRESET' && code !== 'EPIPE') return later('Amazon SES did not answer in time', detail, true)
  return later('The connection to Amazon SES broke before its answer', detail, true)
}

const later = (reason: string, detail: string, isUncertain = false): Failure => ({
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason,
  detail,
  ...(isUncertain ? { isUncertain } : {}),
})
