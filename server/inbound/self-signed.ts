import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import {
  bitString,
  integer,
  objectId,
  octetString,
  sequence,
  set,
  tagged,
  taggedString,
  time,
  toPem,
  utf8String,
  yes,
} from '../base/der.ts'

/**
 * A certificate of our own making (RFC 5280), because Node can read them and not make them. Nobody trusts it, and nobody needs to:
 * servers that send mail take any certificate unless told otherwise (RFC 7435), and with one the mail is at least not read on the way.
 */
export function makeSelfSigned({ host, from, until }: { host: string; from: Date; until: Date }): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const signatureAlgorithm = sequence(objectId('1.2.840.10045.4.3.2'))
  const name = sequence(set(sequence(objectId('2.5.4.3'), utf8String(host.slice(0, maxCommonName)))))
  const body = sequence(
    tagged(0, integer(Buffer.of(2))),
    integer(serialNumber()),
    signatureAlgorithm,
    name,
    sequence(time(from), time(until)),
    name,
    spki,
    tagged(3, extensions(host, spki)),
  )
  const whole = sequence(body, signatureAlgorithm, bitString(sign('sha256', body, privateKey)))
  return { cert: toPem('CERTIFICATE', whole), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

/** X.520's bound; the whole name is among the alternative ones, which are what clients look at. */
const maxCommonName = 64

/** 127 bits of chance, never zero. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40
  return bytes
}

function extensions(host: string, spki: Buffer): Buffer {
  const keyId = createHash('sha1').update(spki).digest()
  const extension = (id: string, value: Buffer, isCritical = false) =>
    sequence(objectId(id), ...(isCritical ? [yes] : []), octetString(value))
  return sequence(
    extension('2.5.29.14', octetString(keyId)),
    // No authority over others.
    extension('2.5.29.19', sequence(), true),
    // Signs handshakes (bit 0), for servers.
    extension('2.5.29.15', Buffer.from([0x03, 0x02, 0x07, 0x80]), true),
    extension('2.5.29.37', sequence(objectId('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', sequence(taggedString(2, Buffer.from(host, 'latin1')))),
  )
}
