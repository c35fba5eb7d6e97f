import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { bitString, integer, objectId, octetString, sequence, set, tagged, taggedString } from '../base/der.ts'

/** A request for a certificate of one host (PKCS #10, RFC 2986). The name stands among the alternative ones only, where clients look. */
export function makeCsr(host: string, key: KeyObject): Buffer {
  const names = sequence(taggedString(2, Buffer.from(host, 'latin1')))
  const extensions = sequence(sequence(objectId('2.5.29.17'), octetString(names)))
  const info = sequence(
    integer(Buffer.of(0)),
    sequence(),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    tagged(0, sequence(objectId('1.2.840.113549.1.9.14'), set(extensions))),
  )
  return sequence(info, sequence(objectId('1.2.840.10045.4.3.2')), bitString(sign('sha256', info, key)))
}
