/** Where a relay is and how to log in, as OUTBOUND says. */
export interface Relay {
  host: string
  port: number
  /** TLS from the first byte (smtps://), against STARTTLS when the relay offers it (smtp://). */
  is_implicit_tls: boolean
  login: { user: string; password: string } | null
}

const hint = 'write special characters of the user and password as percent escapes (/ is %2F, # is %23, ? is %3F, @ is %40)'

/** Reads smtp://user:password@host:port. Throws one line that names OUTBOUND and never repeats the password. */
export function parseRelayUrl(text: string): Relay {
  const url = URL.parse(text)
  if (!url || !/^smtps?:$/.test(url.protocol)) throw new Error(`OUTBOUND is not an smtp:// or smtps:// address; ${hint}`)
  if (!url.hostname) throw new Error('OUTBOUND names no host: smtp://user:password@host:port is expected')
  if ((url.pathname !== '' && url.pathname !== '/') || url.hash) throw new Error(`OUTBOUND has something after the host and port; ${hint}`)
  if (url.search) {
    // What follows a ? may also be the rest of a password, so only a plain word is repeated.
    const option = /^\?(\w+)(?:=|$)/.exec(url.search)?.[1]
    throw new Error(`OUTBOUND has ${option ? `the option ${option}, but a relay address takes none` : `a question mark; ${hint}`}`)
  }
  const isImplicitTls = url.protocol === 'smtps:'
  // 587 is where relays take mail from those who log in (RFC 6409), 465 the same with TLS from the start (RFC 8314).
  const port = url.port === '' ? (isImplicitTls ? 465 : 587) : Number(url.port)
  if (port === 0) throw new Error('OUTBOUND has port 0, where nothing can listen')
  if (port === 465 && !isImplicitTls)
    throw new Error('OUTBOUND is smtp:// with port 465, which expects TLS from the first byte: write smtps://')
  const host = decode(url.hostname).replace(/^\[(.*)\]$/, '$1')
  return { host, port, is_implicit_tls: isImplicitTls, login: loginOf(url) }
}

function loginOf(url: URL): Relay['login'] {
  if (url.username === '' && url.password === '') return null
  const login = { user: decode(url.username), password: decode(url.password) }
  if (login.user === '' || login.password === '')
    throw new Error('OUTBOUND has only one of user and password: smtp://user:password@host:port is expected')
  return login
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error(`OUTBOUND has a percent sign that begins no escape; a percent sign itself is %25`)
  }
}
