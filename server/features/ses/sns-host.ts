import { type KeyObject, X509Certificate } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../../base/errors.ts'

/** Reads what is published at an address, within limits of size and time. */
export type Fetch = (url: URL) => Promise<Response>

/**
 * The address, if it is one of Amazon SNS in the region of the topic; null otherwise. The topic is one that we know, so that a message
 * cannot name a host of its own choice. `ownHost` stands in for Amazon's.
 */
export function snsUrl(text: string, topic: string, ownHost: string | null): URL | null {
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === ''
  return isPlain && url.host === (ownHost ?? hostOf(topic)) ? url : null
}

/** `arn:aws-cn:sns:cn-north-1:123456789012:bounces` → `sns.cn-north-1.amazonaws.com.cn` */
function hostOf(topic: string): string {
  const [, partition, , region] = topic.split(':')
  return `sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`
}

const keptMs = 24 * 3_600_000
const mostKept = 20

/** The keys that SNS signs with, each fetched once a day. Amazon has one for each region, and changes it about once a year. */
export function createSigningKeys({ fetch, clock }: { fetch: Fetch; clock: Clock }): (url: URL) => Promise<KeyObject> {
  const kept = new Map<string, { certificate: Promise<X509Certificate>; until: number }>()
  const certificateAt = (url: URL): Promise<X509Certificate> => {
    const known = kept.get(url.href)
    if (known && known.until > performance.now()) return known.certificate
    if (kept.size >= mostKept) kept.clear()
    const certificate = fetchCertificate(fetch, url)
    kept.set(url.href, { certificate, until: performance.now() + keptMs })
    certificate.catch(() => kept.delete(url.href))
    return certificate
  }
  return async (url) => {
    const { validFromDate, validToDate, publicKey } = await certificateAt(url)
    const now = clock.now()
    if (now < validFromDate || now > validToDate) throw new ApiError('forbidden', 'The certificate of this message is not valid now.')
    return publicKey
  }
}

export const isCertificatePath = ({ pathname, search, hash }: URL): boolean =>
  /^\/[\w-]+\.pem$/.test(pathname) && search === '' && hash === ''

async function fetchCertificate(fetch: Fetch, url: URL): Promise<X509Certificate> {
  const pem = await fetch(url)
    .then((response) => response.text())
    .catch((cause: unknown) => {
      // SNS tries again after a 5xx.
      throw new ApiError('service_unavailable', 'The certificate of Amazon SNS could not be fetched. Try again in a minute.', { cause })
    })
  try {
    return new X509Certificate(pem)
  } catch (cause) {
    throw new ApiError('forbidden', 'What the message names as its certificate is none.', { cause })
  }
}
