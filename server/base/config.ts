import type { z } from 'zod'
import { OperatorError } from './errors.ts'
import { type Setting, settings } from './settings.ts'

type Settings = typeof settings
type Value<S> = S extends Setting<infer Schema, infer Fallback> ? z.output<Schema> | (Fallback extends null ? null : never) : never
export type Config = { readonly [Name in keyof Settings]: Value<Settings[Name]> }

/** A bad value: one line that names the setting, what it holds and what it accepts. Secrets are not repeated. */
export class ConfigError extends OperatorError {}

const secretNames = /KEY|URL|OUTBOUND|METRICS_TOKEN/

export function readConfig(env: Record<string, string | undefined>): Config {
  const config: Record<string, unknown> = {}
  for (const [name, { schema, default: fallback, about }] of Object.entries(settings) as [keyof Settings, Setting][]) {
    const given = env[name] || undefined
    const text = given ?? (typeof fallback === 'function' ? fallback(config) : fallback)
    if (text === null) {
      config[name] = null
      continue
    }
    const parsed = schema.safeParse(text)
    if (!parsed.success) {
      const shown = secretNames.test(name) ? '' : ` is ${JSON.stringify(text)}, but`
      throw new ConfigError(`${name}${shown} ${parsed.error.issues[0]?.message ?? 'is not valid'}. ${about}`)
    }
    config[name] = parsed.data
  }
  refuseStripeWithoutAccount(config as Config)
  refuseHalfCertificate(config as Config)
  refuseOnePortForTwo(config as Config)
  return config as Config
}

function refuseStripeWithoutAccount(config: Config): void {
  if (config.PAYMENTS !== 'stripe') return
  for (const name of ['STRIPE_SECRET_KEY', 'STRIPE_PROFILE'] as const)
    if (config[name] === null) throw new ConfigError(`${name} is needed with PAYMENTS=stripe. ${settings[name].about}`)
}

function refuseHalfCertificate(config: Config): void {
  const [cert, key] = [config.SMTP_TLS_CERT, config.SMTP_TLS_KEY]
  if (cert !== null && key === null) throw new ConfigError(`SMTP_TLS_CERT needs SMTP_TLS_KEY beside it. ${settings.SMTP_TLS_KEY.about}`)
  if (key !== null && cert === null) throw new ConfigError(`SMTP_TLS_KEY needs SMTP_TLS_CERT beside it. ${settings.SMTP_TLS_CERT.about}`)
}

/** Any free port (0) is another one each time. */
function refuseOnePortForTwo({ PORT, HTTPS_PORT }: Config): void {
  if (HTTPS_PORT === null || HTTPS_PORT === 0 || HTTPS_PORT !== PORT) return
  throw new ConfigError(
    `HTTPS_PORT is ${HTTPS_PORT}, but that is PORT already, which speaks HTTP without TLS. ${settings.HTTPS_PORT.about}`,
  )
}
