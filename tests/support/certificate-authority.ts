import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import {
  bitString,
  integer,
  objectId,
  octetString,
  readElements,
  sequence,
  set,
  tagged,
  taggedString,
  time,
  toPem,
  utf8String,
  yes,
} from '../../server/base/der.ts'

/** Issues certificates, as much of them as a browser looks at. */
export interface CertificateAuthority {
  root: string
  /** For whoever has asked with this request (PKCS #10). */
  issue(request: Buffer, wanted: { from: Date; until: Date }): string
}

/** What a request asks for; throws when it is not signed with its own key. */
export function readRequest(request: Buffer): { spki: Buffer; host: string } {
  const [whole] = readElements(request)
  const [info, , signature] = readElements(whole!.content)
  const [, , key, attributes] = readElements(info!.content)
  const spki = sequence(key!.content)
  const isSigned = verify(
    'sha256',
    sequence(info!.content),
    createPublicKey({ key: spki, format: 'der', type: 'spki' }),
    signature!.content.subarray(1),
  )
  if (!isSigned) throw new Error('the request is not signed with its key')
  let inner = attributes!.content
  // Attribute, values, extensions, extension, value, names: one in the other, the last of each.
  for (let depth = 0; depth < 6; depth++) inner = readElements(inner).at(-1)!.content
  return { spki, host: readElements(inner).at(-1)?.content.toString('latin1') ?? inner.toString('latin1') }
}

export function createCertificateAuthority(name = 'Test Root'): CertificateAuthority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rootKey = publicKey.export({ type: 'spki', format: 'der' })
  const keyId = createHash('sha1').update(rootKey).digest()
  const issuer = sequence(set(sequence(objectId('2.5.4.3'), utf8String(name))))
  const algorithm = sequence(objectId('1.2.840.10045.4.3.2'))
  const extension = (id: string, value: Buffer, isCritical = false) =>
    sequence(objectId(id), ...(isCritical ? [yes] : []), octetString(value))

  const certify = (subject: { name: Buffer; spki: Buffer; from: Date; until: Date; extensions: Buffer[] }): string => {
    const body = sequence(
      tagged(0, integer(Buffer.of(2))),
      integer(randomBytes(16)),
      algorithm,
      issuer,
      sequence(time(subject.from), time(subject.until)),
      subject.name,
      subject.spki,
      tagged(3, sequence(...subject.extensions)),
    )
    return toPem('CERTIFICATE', sequence(body, algorithm, bitString(sign('sha256', body, privateKey))))
  }
  const [from, until] = [new Date('2020-01-01'), new Date('2120-01-01')]
  const authority = [extension('2.5.29.14', octetString(keyId)), extension('2.5.29.19', sequence(yes), true)]
  return {
    root: certify({ name: issuer, spki: rootKey, from, until, extensions: authority }),
    issue(request, wanted) {
      const { spki, host } = readRequest(request)
      const extensions = [
        extension('2.5.29.35', sequence(taggedString(0, keyId))),
        extension('2.5.29.37', sequence(objectId('1.3.6.1.5.5.7.3.1'))),
        extension('2.5.29.17', sequence(taggedString(2, Buffer.from(host))), true),
      ]
      return certify({ name: sequence(), spki, ...wanted, extensions })
    },
  }
}
