import { createECDH } from 'node:crypto'
import type { JWK } from 'oidc-provider'
import type { Secrets } from '../../base/secrets.ts'

/** The key that ID tokens are signed with (ES256), derived from SECRET_KEY: every node has the same, and nothing has to be stored. */
export function signingKeyOf(secrets: Pick<Secrets, 'mac'>): JWK {
  for (let attempt = 0; ; attempt++) {
    const ecdh = createECDH('prime256v1')
    try {
      ecdh.setPrivateKey(secrets.mac('oauth_signing_key', String(attempt)))
    } catch {
      // One number in four billion is too large for the curve: the next one will do.
      continue
    }
    // 0x04, then both coordinates (SEC 1 section 2.3.3).
    const point = ecdh.getPublicKey()
    const [x, y] = [point.subarray(1, 33), point.subarray(33)]
    const d = Buffer.alloc(32)
    ecdh.getPrivateKey().copy(d, 32 - ecdh.getPrivateKey().length)
    return {
      kty: 'EC',
      crv: 'P-256',
      use: 'sig',
      alg: 'ES256',
      x: x.toString('base64url'),
      y: y.toString('base64url'),
      d: d.toString('base64url'),
    }
  }
}
