import { accessSync, constants, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { z } from 'zod'

/** The forms that settings have in the environment, and what becomes of them. */
export const roles = ['http', 'sender', 'inbound', 'consumers', 'scheduler'] as const

export const port = z.coerce.number({ error: 'must be a port number' }).int().min(0).max(65535, 'must be a port number, at most 65535')
export const positive = z.coerce.number({ error: 'must be a whole number' }).int('must be a whole number').min(1, 'must be at least 1')
export const url = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .transform((text) => text.replace(/\/+$/, ''))
export const httpsUrl = z.url({ protocol: /^https$/, error: 'must be an https:// address' })
export const flag = z
  .enum(['true', 'false', '1', '0', 'yes', 'no'], { error: 'must be true or false' })
  .transform((text) => ['true', '1', 'yes'].includes(text))
export const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)
export const domain = z
  .string()
  .regex(/^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i, 'must be a domain name')
export const megabytes = positive.max(100, 'must be at most 100').transform((count) => count * 1024 * 1024)
export const proxyList = commaList.pipe(
  z.array(z.string().refine((text) => text === '*' || isIP(text) !== 0, 'must be IP addresses with commas between them, or *')),
)
export const networkList = commaList.pipe(
  z.array(z.string().refine(isNetwork, 'must be IP addresses or networks with commas between them')),
)
export const serverList = commaList.pipe(
  z.array(z.string().refine(isServer, 'must be IP addresses, or address:port, with commas between them')),
)
export const rolesList = commaList.pipe(
  z.array(z.enum(roles, { error: `must be some of ${roles.join(', ')}` })).min(1, 'must name at least one role'),
)
const portRange = 'must be ports from 1 to 65535, with commas between them'
export const portList = commaList.pipe(
  z.array(z.coerce.number<string>({ error: portRange }).int(portRange).min(1, portRange).max(65535, portRange)).min(1, portRange),
)
export const secondsList = commaList.pipe(z.array(z.coerce.number<string>().min(0)).min(1))

/** Browsers and apps hold what is signed in, or let in, to an origin; a path below one would not be part of it. */
export const origin = url.refine(
  (text) => /^https?:\/\/[^/?#@]+$/.test(text),
  'must be an origin without a path, like https://id.example.com (unset, it is PUBLIC_URL)',
)
export const apiUrl = url.refine((text) => /^[^?#]+\/v1$/.test(text), 'must end with /v1, the version of the API')

/** Looked at when the settings are read: whoever needs it opens it much later, where nobody sees why it fails. */
export const readableFile = z.string().refine(isReadable, 'must name a file that this user can read')

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. */
function isServer(text: string): boolean {
  const [, bracketed, plain = ''] = /^(?:\[(.+)\](?::\d{1,5})?|(.+?)(?::\d{1,5})?)$/.exec(text) ?? []
  return isIP(text) !== 0 || (bracketed === undefined ? isIP(plain) === 4 : isIP(bracketed) === 6)
}

/** `192.0.2.1` or `192.0.2.0/24`. */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}
