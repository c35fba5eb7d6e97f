import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { DkimAlgorithm, DkimKey } from './sign.ts'

const generate = promisify(generateKeyPair)

export async function generateDkimKey(algorithm: DkimAlgorithm, selector: string): Promise<DkimKey> {
  const { privateKey } = algorithm === 'rsa-sha256' ? await generate('rsa', { modulusLength: 2048 }) : await generate('ed25519', {})
  return { selector, algorithm, private_key: privateKey }
}

/** PKCS #8, to be sealed before it is stored. */
export const dkimKeyToPem = ({ private_key }: Pick<DkimKey, 'private_key'>): string =>
  private_key.export({ type: 'pkcs8', format: 'pem' }) as string

export function dkimKeyFromPem(selector: string, pem: string): DkimKey {
  const private_key = createPrivateKey(pem)
  const type = private_key.asymmetricKeyType
  if (type !== 'rsa' && type !== 'ed25519')
    throw new Error(`The key of the selector ${selector} is of type ${type}; DKIM knows rsa and ed25519`)
  return { selector, algorithm: type === 'rsa' ? 'rsa-sha256' : 'ed25519-sha256', private_key }
}

/** What `selector._domainkey.domain` must say. RFC 6376 section 3.6.1; RFC 8463 section 4: of Ed25519 the 32 bytes alone. */
export function dkimRecord({ algorithm, private_key }: Pick<DkimKey, 'algorithm' | 'private_key'>): string {
  const publicKey = createPublicKey(private_key as KeyObject)
  const info = publicKey.export({ type: 'spki', format: 'der' })
  return algorithm === 'rsa-sha256'
    ? `v=DKIM1; k=rsa; p=${info.toString('base64')}`
    : `v=DKIM1; k=ed25519; p=${info.subarray(-32).toString('base64')}`
}

/** RFC 1035 section 3.3.14: a TXT record is made of strings of at most 255 bytes, and an RSA key needs two. */
export const recordStrings = (record: string): string[] => record.match(/.{1,255}/g) ?? []

/** `ph20261115r`: when the key was made and of which kind, so that old and new can stand in DNS side by side. */
export const dkimSelector = (algorithm: DkimAlgorithm, date: Date): string =>
  `ph${date.toISOString().slice(0, 10).replaceAll('-', '')}${algorithm === 'rsa-sha256' ? 'r' : 'e'}`
