import { type AuthMechanism, authMechanisms, type Login } from '../smtp/endpoint.ts'

/** Where a relay is and how to log in, as OUTBOUND says. */
export interface Relay {
  host: string
  port: number
  /** TLS from the first byte (smtps://), against STARTTLS when the relay offers it (smtp://). */
  is_implicit_tls: boolean
  login: Login | null
}

/** What may stand behind the ?: `smtp://host?weight=2&connections=10&rate=50&auth=xoauth2`. */
export interface RelayOptions {
  /** Its share of the mail, against the other relays' weights. */
  weight: number
  connections: number | null
  /** Messages a second. */
  rate: number | null
  auth: AuthMechanism | null
}

export const hint = 'write special characters of the user and password as percent escapes (/ is %2F, # is %23, ? is %3F, @ is %40)'

/** One relay or several with commas between them. A comma in a password is one when no address follows it. */
export function parseRelays(outbound: string): { relay: Relay; options: RelayOptions }[] {
  const relays = outbound.split(/\s*,\s*(?=smtps?:)/i).map((text) => {
    const question = text.indexOf('?')
    const relay = parseRelayUrl(question < 0 ? text : text.slice(0, question))
    return { relay, options: parseOptions(question < 0 ? '' : text.slice(question), relayOptionNames) }
  })
  const places = relays.map(({ relay }) => `${relay.host.toLowerCase()}:${relay.port}`)
  const twice = places.find((place, index) => places.indexOf(place) !== index)
  if (twice) throw new Error(`OUTBOUND names the relay ${twice} twice; use weight to give it more`)
  return relays
}

/** The relays of OUTBOUND as people may see them. */
export const relayPlaces = (outbound: string): string[] =>
  parseRelays(outbound).map(({ relay }) => `${relay.host.includes(':') ? `[${relay.host}]` : relay.host}:${relay.port}`)

/** Reads smtp://user:password@host:port. Throws one line that names OUTBOUND and never repeats the password. */
export function parseRelayUrl(text: string): Relay {
  const url = URL.parse(text)
  if (!url || !/^smtps?:$/.test(url.protocol)) throw new Error(`OUTBOUND is not an smtp:// or smtps:// address; ${hint}`)
  if (!url.hostname) throw new Error('OUTBOUND names no host: smtp://user:password@host:port is expected')
  if ((url.pathname !== '' && url.pathname !== '/') || url.hash) throw new Error(`OUTBOUND has something after the host and port; ${hint}`)
  const isImplicitTls = url.protocol === 'smtps:'
  // 587 is where relays take mail from those who log in (RFC 6409), 465 the same with TLS from the start (RFC 8314).
  const port = url.port === '' ? (isImplicitTls ? 465 : 587) : Number(url.port)
  if (port === 0) throw new Error('OUTBOUND has port 0, where nothing can listen')
  if (port === 465 && !isImplicitTls)
    throw new Error('OUTBOUND is smtp:// with port 465, which expects TLS from the first byte: write smtps://')
  const host = decode(url.hostname).replace(/^\[(.*)\]$/, '$1')
  if (host.includes(',')) throw new Error('OUTBOUND has a comma that no address follows: smtp://one.example,smtp://two.example is expected')
  return { host, port, is_implicit_tls: isImplicitTls, login: loginOf(url) }
}

const relayOptionNames = ['weight', 'connections', 'rate', 'auth']

/** `direct?connections=5&rate=20`: what holds for each receiving server. */
export const parseDirectOptions = (outbound: string): RelayOptions => parseOptions(outbound.slice('direct'.length), ['connections', 'rate'])

function parseOptions(search: string, names: string[]): RelayOptions {
  // What follows a ? may also be the rest of a password, so only a plain word is repeated.
  const pairs =
    search === ''
      ? []
      : search
          .slice(1)
          .split('&')
          .map((pair) => /^(\w+)(?:=(\w*(?:\.\w+)?))?$/.exec(pair))
  const options: RelayOptions = { weight: 1, connections: null, rate: null, auth: null }
  for (const pair of pairs) {
    const [, name, value = ''] = pair ?? []
    if (name === undefined) throw new Error(`OUTBOUND has a question mark; ${hint}`)
    if (!names.includes(name)) throw new Error(`OUTBOUND has the option ${name}, but takes only ${names.join(', ')}`)
    if (name === 'weight') options.weight = wholeNumber(name, value, 1_000)
    else if (name === 'connections') options.connections = wholeNumber(name, value, 1_000)
    else if (name === 'rate') options.rate = rateIn(value)
    else options.auth = mechanismIn(value)
  }
  return options
}

export function wholeNumber(name: string, value: string, most: number): number {
  const number = /^\d+$/.test(value) ? Number(value) : 0
  if (number < 1 || number > most) throw new Error(`OUTBOUND has a ${name} that is not a whole number from 1 to ${most}`)
  return number
}

export function rateIn(value: string): number {
  const number = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : 0
  if (number < 0.01 || number > 100_000)
    throw new Error('OUTBOUND has a rate that is not a number of messages a second from 0.01 to 100000')
  return number
}

function mechanismIn(value: string): AuthMechanism {
  const mechanism = authMechanisms.find((name) => name === value.toUpperCase())
  if (!mechanism) throw new Error(`OUTBOUND has an auth that is none of ${authMechanisms.join(', ').toLowerCase()}`)
  return mechanism
}

function loginOf(url: URL): Relay['login'] {
  if (url.username === '' && url.password === '') return null
  const login = { user: decode(url.username), password: decode(url.password) }
  if (login.user === '' || login.password === '')
    throw new Error('OUTBOUND has only one of user and password: smtp://user:password@host:port is expected')
  return login
}

export function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error(`OUTBOUND has a percent sign that begins no escape; a percent sign itself is %25`)
  }
}
