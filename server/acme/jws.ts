import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** Who asks: the key, and where the authority keeps the account that it belongs to. */
export interface AcmeAccount {
  key: KeyObject
  url: string
}

/** P-256, which every authority takes, for accounts and for certificates. */
export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

interface Signed {
  key: KeyObject
  /** Null while there is no account yet: then the key itself is shown. */
  kid: string | null
  nonce: string
  url: string
  /** Null asks without changing anything (POST-as-GET, RFC 8555 section 6.3). */
  payload: object | null
}

/** The body of a request: a flattened JWS (RFC 7515 section 7.2.2) with ES256. */
export function signRequest({ key, kid, nonce, url, payload }: Signed): string {
  const protectedHeader = encode({ alg: 'ES256', ...(kid === null ? { jwk: publicJwk(key) } : { kid }), nonce, url })
  const encoded = payload === null ? '' : encode(payload)
  const signature = sign('sha256', Buffer.from(`${protectedHeader}.${encoded}`), { key, dsaEncoding: 'ieee-p1363' })
  return JSON.stringify({ protected: protectedHeader, payload: encoded, signature: signature.toString('base64url') })
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Its members in the order that RFC 7638 section 3.3 hashes them in. */
function publicJwk(key: KeyObject): { crv: string; kty: string; x: string; y: string } {
  const { crv = '', kty = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
  return { crv, kty, x, y }
}

/** RFC 8555 section 8.1: what stands at the address that an HTTP-01 challenge names. */
export const keyAuthorization = (key: KeyObject, token: string): string =>
  `${token}.${createHash('sha256')
    .update(JSON.stringify(publicJwk(key)))
    .digest('base64url')}`

/** RFC 8555 section 8.4: what stands in the TXT record at `_acme-challenge.` of the host. */
export const dnsChallengeValue = (authorization: string): string => createHash('sha256').update(authorization).digest('base64url')
