import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperatorError } from './errors.ts'

/**
 * What is signed with SECRET_KEY. Each purpose has a key of its own, so that a token made for one can never pass for another.
 * A token is `version.payload.signature`, all base64url: short enough for a mail link, opaque to its reader.
 */
export type TokenPurpose =
  | 'known_browser'
  | 'confirm'
  | 'unsubscribe'
  | 'invite'
  | 'post_approval'
  | 'waitlist'
  | 'waitlist_accept'
  | 'join_form'
  | 'preferences'
  | 'personal_data'
  | 'address_consent'
  | 'address_change'
/** Tokens that must fit into the local part of an address have forms of their own, with shorter signatures: see delivery-token.ts and reply-token.ts. */
export type ShortTokenPurpose = 'delivery' | 'reply'

/** What is kept in the database and must not be readable there. */
export type SealPurpose = 'oauth' | 'dkim' | 'webhook' | 'certificate' | 'acme_account'
/** What is compared, not read: short codes and challenge ids. */
export type MacPurpose = 'email_code' | 'payment_challenge' | 'oauth_cookies' | 'oauth_signing_key' | 'waitlist_person' | 'waitlist_peer'

export interface Secrets {
  sign(purpose: TokenPurpose, payload: Buffer): string
  /** The payload, or null for anything that was not signed here for this purpose. */
  verify(purpose: TokenPurpose, token: string): Buffer | null
  /** 32 bytes: a short token ends with 8 of them, so that four come out of one turn. A guess costs a request and hits once in 2^64. */
  shortSignatures(purpose: ShortTokenPurpose, body: Buffer): Buffer
  /** HMAC-SHA-256 with a key of its own: what has too few values for a plain hash. */
  mac(purpose: MacPurpose, text: string): Buffer
  /** Encrypts for storage (AES-256-GCM). `about` ties the text to its place: moved to another row, it does not open. */
  seal(purpose: SealPurpose, about: string, text: string): Buffer
  open(purpose: SealPurpose, about: string, sealed: Buffer): string
  /** Tells two keys apart without revealing either: kept in the database, so that a process with another key refuses to start. */
  fingerprint: string
}

const version = 1
const signatureBytes = 16

export function createSecrets(secretKey: string): Secrets {
  const keys = new Map<string, KeyObject>()
  // As a KeyObject: making one of a Buffer for each token took four times as long as the token.
  const keyFor = (purpose: string): KeyObject => {
    const known = keys.get(purpose)
    if (known) return known
    const derived = createSecretKey(Buffer.from(hkdfSync('sha256', secretKey, 'posthaste', purpose, 32)))
    keys.set(purpose, derived)
    return derived
  }
  const signatureOf = (purpose: TokenPurpose, body: Buffer): Buffer =>
    createHmac('sha256', keyFor(`token:${purpose}`))
      .update(body)
      .digest()
      .subarray(0, signatureBytes)

  return {
    sign(purpose, payload) {
      const body = Buffer.concat([Buffer.of(version), payload])
      return Buffer.concat([body, signatureOf(purpose, body)]).toString('base64url')
    },
    verify(purpose, token) {
      const bytes = Buffer.from(token, 'base64url')
      if (bytes.length <= signatureBytes + 1 || bytes[0] !== version || bytes.toString('base64url') !== token) return null
      const body = bytes.subarray(0, -signatureBytes)
      if (!timingSafeEqual(bytes.subarray(-signatureBytes), signatureOf(purpose, body))) return null
      return body.subarray(1)
    },
    shortSignatures: (purpose, body) =>
      createHmac('sha256', keyFor(`token:${purpose}`))
        .update(body)
        .digest(),
    mac: (purpose, text) =>
      createHmac('sha256', keyFor(`mac:${purpose}`))
        .update(text)
        .digest(),
    seal(purpose, about, text) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keyFor(`seal:${purpose}`), nonce).setAAD(Buffer.from(about))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), body])
    },
    open(purpose, about, sealed) {
      if (sealed[0] !== version) throw new Error('sealed by a release that this one does not know')
      const decipher = createDecipheriv('aes-256-gcm', keyFor(`seal:${purpose}`), sealed.subarray(1, 13), { authTagLength: 16 })
      decipher.setAAD(Buffer.from(about)).setAuthTag(sealed.subarray(13, 29))
      return Buffer.concat([decipher.update(sealed.subarray(29)), decipher.final()]).toString('utf8')
    },
    fingerprint: keyFor('fingerprint').export().toString('hex').slice(0, 16),
  }
}

/** 256 bits of chance, for whoever holds it; only `hashOfSecret` of it is stored, and that cannot be guessed back. */
export const makeSecret = (): string => randomBytes(32).toString('base64url')
export const hashOfSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** What to do without the right key. */
export const keyFromBackup = 'Any backup holds the key that Posthaste made itself: "posthaste restore BACKUP --secret-key" puts it back.'

/** SECRET_KEY when set; else the one kept beside the data, made on the first start: only then may one be made, since no other opens what is stored. */
export function loadSecretKey(given: string | null, dataDir: string, { mayMake }: { mayMake: boolean }): string {
  if (given) return given
  const file = secretKeyFile(dataDir)
  if (!existsSync(file) && !mayMake)
    throw new OperatorError(
      `${file} is missing, and nothing that this database has signed or sealed can be read without it. ${keyFromBackup} If you had set SECRET_KEY, set it again.`,
    )
  if (!existsSync(file)) writeSecretKey(file, randomBytes(32).toString('base64url'))
  const key = readFileSync(file, 'utf8').trim()
  if (key.length < 32)
    throw new OperatorError(
      `${file} is damaged: it holds no key. Move it away. ${keyFromBackup} A new one would break every link already sent.`,
    )
  return key
}

/** Whole or not at all, and safe on the disk before it is used; one that is there already stays (two processes may start at once). */
export function writeSecretKey(file: string, key: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const partial = `${file}.${process.pid}`
  const descriptor = openSync(partial, 'w', 0o600)
  try {
    writeSync(descriptor, `${key}\n`)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  try {
    linkSync(partial, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(partial)
  }
}

export const secretKeyFile = (dataDir: string): string => join(dataDir, 'secret.key')
