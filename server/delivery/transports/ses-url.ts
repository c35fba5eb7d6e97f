import { decode, hint, rateIn, wholeNumber } from './relay-url.ts'

/** How to reach Amazon SES, as OUTBOUND says: `ses://KEY:SECRET@REGION?endpoint=…&configuration_set=…&rate=…&connections=…`. */
export interface SesPlace {
  region: string
  /** Null: wherever the SDK finds one, such as the environment or the role of the machine. */
  key: { id: string; secret: string } | null
  /** Null: Amazon's own for the region. */
  endpoint: string | null
  configuration_set: string | null
  /** Messages a second; null: as many as the account may send. */
  rate: number | null
  connections: number
}

const optionNames = ['endpoint', 'configuration_set', 'rate', 'connections']
const expected = 'ses://KEY:SECRET@REGION is expected, such as ses://AKIA…:…@eu-west-1'

/** Throws one line that names OUTBOUND and never repeats the secret. */
export function parseSesUrl(text: string): SesPlace {
  const url = URL.parse(text)
  if (url?.protocol !== 'ses:') throw new Error(`OUTBOUND is not a ses:// address; ${hint}`)
  if ((url.pathname !== '' && url.pathname !== '/') || url.hash) throw new Error(`OUTBOUND has something after the region; ${hint}`)
  if (!/^[a-z]{2}(?:-[a-z]+)+-\d+$/.test(url.hostname) || url.port !== '')
    throw new Error(`OUTBOUND names no region of Amazon; ${expected}`)
  const options = optionsIn(url.searchParams)
  return {
    region: url.hostname,
    key: keyIn(url),
    endpoint: options.endpoint === undefined ? null : endpointIn(options.endpoint),
    configuration_set: options.configuration_set === undefined ? null : configurationSetIn(options.configuration_set),
    rate: options.rate === undefined ? null : rateIn(options.rate),
    connections: options.connections === undefined ? 20 : wholeNumber('connections', options.connections, 1_000),
  }
}

function optionsIn(parameters: URLSearchParams): Record<string, string | undefined> {
  // What follows a ? may also be the rest of a secret, so only a plain word is repeated.
  for (const name of parameters.keys())
    if (!optionNames.includes(name)) {
      const shown = /^[a-z_]{1,30}$/.test(name) ? ` ${name}` : ' that it does not know'
      throw new Error(`OUTBOUND has an option${shown}, but takes only ${optionNames.join(', ')}; ${hint}`)
    }
  return Object.fromEntries(parameters)
}

function keyIn(url: URL): SesPlace['key'] {
  if (url.username === '' && url.password === '') return null
  const key = { id: decode(url.username), secret: decode(url.password) }
  if (key.id === '' || key.secret === '') throw new Error(`OUTBOUND has only one of key and secret; ${expected}`)
  return key
}

function endpointIn(value: string): string {
  const endpoint = URL.parse(value)
  if (!endpoint || !/^https?:$/.test(endpoint.protocol) || endpoint.username !== '')
    throw new Error('OUTBOUND has an endpoint that is not an http:// or https:// address')
  return value
}

function configurationSetIn(value: string): string {
  if (!/^[\w-]{1,64}$/.test(value))
    throw new Error('OUTBOUND has a configuration_set that is not the name of one: letters, digits, _ and -')
  return value
}
