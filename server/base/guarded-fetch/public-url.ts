import { isIP } from 'node:net'
import { FetchRefused } from './fetch-error.ts'

/** What a stranger's address may be. */
export interface AddressRules {
  ports: readonly number[]
  /** For development: `http:`, any port, and whatever this machine can reach. */
  isPrivateAllowed: boolean
  isPublic(ip: string): boolean
}

const longest = 2_048

/** The host without the brackets of IPv6 and the dot at the end, as it is looked up, dialled and named in TLS. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

/**
 * Reads an address that a stranger gave, and throws FetchRefused for one that is not public by its form alone. `URL` has turned every way
 * of writing a host into one by then (`0x7f.1`, `2130706433`, full-width digits and `%31` are all 127.0.0.1): only its answer is
 * looked at, and only its answer is dialled.
 */
export function readPublicUrl(text: string, rules: AddressRules): URL {
  const url = text.length <= longest && isPlain(text) ? URL.parse(text) : null
  const problem = url ? problemOf(url, rules) : formProblem(text)
  if (!url || problem !== null) throw new FetchRefused(problem ?? formProblem(text))
  return url
}

/** What is wrong with the form of an address, in words for whoever gave it; null when nothing is. Where its name leads is not looked up. */
export function checkPublicUrl(text: string, rules: AddressRules): string | null {
  try {
    readPublicUrl(text, rules)
    return null
  } catch (error) {
    if (error instanceof FetchRefused) return error.message
    throw error
  }
}

/** `URL` would leave out line breaks and turn backslashes: what others read as another address is refused. */
const isPlain = (text: string): boolean => /^[a-z][a-z\d+.-]*:\/\/[^\s\p{Cc}\\]+$/iu.test(text)

const formProblem = (text: string): string =>
  text.length > longest ? `is longer than ${longest} characters` : 'is not a web address, such as https://hooks.example.com/news'

function problemOf(url: URL, { ports, isPrivateAllowed, isPublic }: AddressRules): string | null {
  const host = hostOf(url)
  if (url.protocol !== 'https:' && !(isPrivateAllowed && url.protocol === 'http:')) return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must not have a user name or a password in it'
  if (!isIP(host) && !isName(host)) return 'is not a web address, such as https://hooks.example.com/news'
  if (isPrivateAllowed) return null
  const port = url.port === '' ? 443 : Number(url.port)
  if (!ports.includes(port)) return `names port ${port}; allowed is ${ports.join(' or ')}`
  if (isIP(host) ? !isPublic(host) : isLocalName(host)) return notPublic(host)
  return null
}

export const notPublic = (host: string, address = host): string =>
  address === host ? `${host} is not a public address` : `${host} leads to ${address}, which is not a public address`

const isName = (host: string): boolean => host.length <= 253 && host.split('.').every((label) => label.length > 0 && label.length <= 63)

/** RFC 6761 section 6.3, and names that only a network of its own can know. */
const isLocalName = (host: string): boolean => !host.includes('.') || host.endsWith('.localhost')
