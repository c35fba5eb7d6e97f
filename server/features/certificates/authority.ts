import { readFileSync } from 'node:fs'
import { type Acme, createAcme } from '../../acme/index.ts'
import type { Config } from '../../base/config.ts'
import { OperatorError, reasonOf } from '../../base/errors.ts'
import type { Services } from '../../operations/context.ts'

const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory'

/** Whether this installation does TLS itself; behind a proxy it does not, and orders nothing. */
export const areCertificatesOurs = ({ HTTPS_PORT }: Pick<Config, 'HTTPS_PORT'>): boolean => HTTPS_PORT !== null

/** The authority that the settings name. Whoever opens it closes it. */
export const openAuthority = ({ config, clock }: Pick<Services, 'config' | 'clock'>): Acme =>
  createAcme({ directoryUrl: config.ACME_DIRECTORY_URL ?? letsEncrypt, ca: readRoot(config.ACME_CA_FILE), clock })

function readRoot(file: string | null): string | null {
  if (file === null) return null
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`ACME_CA_FILE cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
}
