import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { OperatorError, reasonOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { makeSelfSigned } from './self-signed.ts'

/** PEM texts, as TLS wants them. */
export interface Certificate {
  cert: string
  key: string
}

export interface CertificateFiles {
  cert: string
  key: string
}

/** The pair, or why it is of no use, in words for the operator. */
export function readCertificate(files: CertificateFiles): Certificate {
  const cert = readNamed('SMTP_TLS_CERT', files.cert)
  const key = readNamed('SMTP_TLS_KEY', files.key)
  if (!fits(cert, key))
    throw new OperatorError(
      `${files.key} is not the key of the certificate in ${files.cert}. Set SMTP_TLS_CERT and SMTP_TLS_KEY to a pair.`,
    )
  return { cert, key }
}

function readNamed(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new OperatorError(`${setting} cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
}

function fits(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    // No certificate or no key at all: it fits even less.
    return false
  }
}

/**
 * Looks at the files every so often and tells of a new pair. By their times and not by watching: what renews certificates swaps links,
 * which no watch follows. A pair that does not fit, as in the moment between the writing of the two, is passed over.
 */
export function followCertificate(
  files: CertificateFiles,
  { log, everyMs = 30_000, onChange }: { log: Log; everyMs?: number; onChange(renewed: Certificate): void },
): { stop(): void } {
  let seen = stampOf(files)
  const look = () => {
    const stamp = stampOf(files)
    if (stamp === seen) return
    try {
      onChange(readCertificate(files))
      seen = stamp
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'the new certificate is of no use yet; the old one stays')
    }
  }
  const timer = setInterval(look, everyMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

const stampOf = ({ cert, key }: CertificateFiles): string =>
  [cert, key]
    .map((path) => statSync(path, { throwIfNoEntry: false }))
    .map((stat) => (stat ? `${stat.mtimeMs} ${stat.size} ${stat.ino}` : 'missing'))
    .join('; ')

const ownYears = 10
const dayMs = 24 * 60 * 60_000

/** One of our own making, kept beside the data, so that who has seen it once sees the same again. Made anew before it runs out. */
export function keepOwnCertificate({ dataDir, host, clock }: { dataDir: string; host: string; clock: Clock }): Certificate {
  const file = join(dataDir, 'smtp-certificate.pem')
  const now = clock.now()
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (isGoodFor(kept, host, now)) return { cert: kept, key: kept }
  const made = makeSelfSigned({
    host,
    from: new Date(now.getTime() - dayMs),
    until: new Date(now.getTime() + ownYears * 365 * dayMs),
  })
  mkdirSync(dataDir, { recursive: true })
  const partial = `${file}.${process.pid}`
  writeFileSync(partial, made.cert + made.key, { mode: 0o600 })
  renameSync(partial, file)
  return made
}

/** Both are in one file, and both readers take what is theirs from it. */
function isGoodFor(pem: string, host: string, now: Date): boolean {
  if (!fits(pem, pem)) return false
  const certificate = new X509Certificate(pem)
  return certificate.checkHost(host) !== undefined && certificate.validToDate.getTime() > now.getTime() + 30 * dayMs
}
