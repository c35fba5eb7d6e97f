import { generateKeyPairSync } from 'node:crypto'
import { systemClock } from '../../server/base/clock.ts'
import { createDkimSigner } from '../../server/mail/dkim/sign.ts'
import type { DnsName } from './dns-peer.ts'

/** A domain that signs its mail, and what its DNS says about that. */
export function createSigningDomain(domain: string): { sign(raw: string | Buffer): Promise<Buffer>; names: Record<string, DnsName> } {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const record = `v=DKIM1; k=rsa; p=${rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`
  const keys = [{ selector: 'test', algorithm: 'rsa-sha256' as const, private_key: rsa.privateKey }]
  const signer = createDkimSigner({ domain, keys, clock: systemClock })
  return {
    names: { [`test._domainkey.${domain}`]: { TXT: [record] } },
    async sign(raw) {
      const bytes = Buffer.from(raw)
      const end = bytes.indexOf('\r\n\r\n')
      return Buffer.concat([await signer.sign(bytes.subarray(0, end + 2), bytes.subarray(end + 4)), bytes])
    },
  }
}
