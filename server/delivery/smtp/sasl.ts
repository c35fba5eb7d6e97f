import { type AuthMechanism, authMechanisms, type Endpoint, type Login } from './endpoint.ts'
import type { Reply } from './reply.ts'
import { SmtpError } from './smtp-error.ts'

const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64')

/** What is said to each 334, the first beside the name of the mechanism (RFC 4954) where it may stand there. */
const answers: Record<AuthMechanism, (login: Login, endpoint: Endpoint) => { first: string | null; rest: string[] }> = {
  // RFC 4616. A server that overlooks the first answer asks for it again.
  PLAIN: ({ user, password }) => {
    const first = base64(`\0${user}\0${password}`)
    return { first, rest: [first] }
  },
  LOGIN: ({ user, password }) => ({ first: null, rest: [base64(user), base64(password)] }),
  // RFC 7628. A no comes as a 334 with the reason in it, and wants to be acknowledged before it is told as a 535.
  OAUTHBEARER: ({ user, password }, { host, port }) => ({
    first: base64(`n,a=${saslName(user)},\x01host=${host}\x01port=${port}\x01auth=Bearer ${password}\x01\x01`),
    rest: [base64('\x01')],
  }),
  XOAUTH2: ({ user, password }) => ({ first: base64(`user=${user}\x01auth=Bearer ${password}\x01\x01`), rest: [''] }),
}

/** RFC 5801: the two signs that have a meaning in a name. */
const saslName = (user: string) => user.replaceAll('=', '=3D').replaceAll(',', '=2C')

/** Logs in, or throws. Neither the commands nor the password are ever part of the error. */
export async function logIn(ask: (line: string) => Promise<Reply>, endpoint: Endpoint, login: Login, offered: readonly string[]) {
  const mechanism = chooseMechanism(endpoint.mechanism, offered)
  const { first, rest } = answers[mechanism](login, endpoint)
  let reply = await ask(first === null ? `AUTH ${mechanism}` : `AUTH ${mechanism} ${first}`)
  for (const answer of rest) {
    if (reply.code !== 334) break
    reply = await ask(answer)
  }
  if (reply.code !== 235) throw new SmtpError('login', `AUTH ${mechanism}: ${reply.text}`, reply)
}

function chooseMechanism(wanted: AuthMechanism | null, offered: readonly string[]): AuthMechanism {
  const known = authMechanisms.find((name) => (wanted === null || wanted === name) && offered.includes(name))
  if (known) return known
  const seen = offered.length === 0 ? 'no AUTH is offered' : `AUTH is offered as ${offered.join(' ')} only`
  throw new SmtpError('login', `${seen}, and we speak ${wanted ?? authMechanisms.join(' ')}`)
}
