import { type KeyObject, X509Certificate } from 'node:crypto'
import { readElements } from '../base/der.ts'
import { AcmeProblem } from './problem.ts'

export interface Chain {
  /** The certificate, and those that it is signed by after it. */
  pem: string
  not_before: Date
  not_after: Date
}

const certificatePattern = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const mostCertificates = 10

/** What was downloaded, once it is known to be what was ordered: served as it is, a wrong one would take the host down. */
export function readChain(text: string, { host, key }: { host: string; key: KeyObject }): Chain {
  const certificates = text.match(certificatePattern) ?? []
  const [first] = certificates
  if (first === undefined || certificates.length > mostCertificates) throw refused('holds no certificate, or too many')
  const leaf = parse(first)
  for (const other of certificates.slice(1)) parse(other)
  if (!leaf.checkPrivateKey(key)) throw refused('is for another key than ours')
  if (leaf.checkHost(host, { subject: 'never' }) === undefined) throw refused(`is not for ${host}`)
  const [not_before, not_after] = [leaf.validFromDate, leaf.validToDate]
  if (not_after <= not_before) throw refused('ends before it begins')
  return { pem: certificates.map((one) => `${one}\n`).join(''), not_before, not_after }
}

function parse(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (cause) {
    throw refused('cannot be read', cause)
  }
}

const refused = (why: string, cause?: unknown) => new AcmeProblem('malformedAnswer', `The certificate that came ${why}`, { cause })

/** RFC 9773 section 4.1: by what the authority knows this certificate. Null for one that does not name the key it was signed with. */
export function renewalId(pem: string): string | null {
  const [certificate] = readElements(new X509Certificate(pem).raw)
  const [body] = readElements(certificate?.content ?? Buffer.alloc(0))
  const fields = readElements(body?.content ?? Buffer.alloc(0))
  const serial = fields.find(({ tag }) => tag === 0x02)
  const authority = authorityKeyId(fields.find(({ tag }) => tag === 0xa3)?.content)
  return serial && authority ? `${authority.toString('base64url')}.${serial.content.toString('base64url')}` : null
}

const authorityKeyExtension = Buffer.from([0x55, 0x1d, 0x23])

/** RFC 5280 section 4.2.1.1. */
function authorityKeyId(extensions: Buffer | undefined): Buffer | null {
  const [list] = readElements(extensions ?? Buffer.alloc(0))
  for (const { content } of readElements(list?.content ?? Buffer.alloc(0))) {
    const parts = readElements(content)
    if (!parts[0]?.content.equals(authorityKeyExtension)) continue
    const [identifier] = readElements(parts.at(-1)?.content ?? Buffer.alloc(0))
    return readElements(identifier?.content ?? Buffer.alloc(0)).find(({ tag }) => tag === 0x80)?.content ?? null
  }
  return null
}
