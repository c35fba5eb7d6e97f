import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { html } from '../base/html.ts'
import { addressOf, peerOf } from '../base/peer-address.ts'
import { makeSecret } from '../base/secrets.ts'
import { findCodeAddress } from '../features/identity/index.ts'
import { type Browser, type SignInOutcome, sendSignInCode, signInWithCode, signOut } from '../features/sessions/index.ts'
import type { Services } from '../operations/context.ts'
import { email } from '../operations/schemas.ts'
import { readCookie, setCookie } from './cookies.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { localPath } from './local-path.ts'
import { sendPage } from './page.ts'
import { forgetSession, keepSession, sessionOf, sessionSecretOf } from './signed-in.ts'

/**
 * Sign-in without a password, and sign-up with it: address → code by mail → session. The code is bound to a cookie of the browser that
 * asked, so that it is of no use in any other. No step tells whether the address has an account.
 */
const attemptCookie = 'sign-in'
/** Longer than the code lives, so that a late one can be told from none. */
const attemptSeconds = 1800

const knownCookie = 'known'
const knownSeconds = 365 * 24 * 3600

type WithNext = { Querystring: { next?: unknown } }

export function addSignInPages(app: FastifyInstance, services: Services): void {
  const { config, database } = services
  acceptForms(app, config)

  app.get<WithNext>('/sign-in', async (request, reply) => {
    const next = localPath(request.query.next)
    if (await sessionOf(services, request)) return reply.redirect(next, 303)
    return sendAddressPage(reply, { next })
  })

  app.post('/sign-in', async (request, reply) => {
    const next = localPath(fieldOf(request, 'next'))
    const typed = fieldOf(request, 'email')
    const parsed = email.safeParse(typed)
    if (!parsed.success)
      return sendAddressPage(reply, { next, typed, status: 422, problem: 'This is not an e-mail address. Please check it.' })
    const binding = makeSecret()
    try {
      const known = readCookie(config, request, knownCookie)
      await sendSignInCode(services, { address: parsed.data, binding, peer: peerOf(request), known })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      reply.headers(error.headers)
      return sendAddressPage(reply, { next, typed, status: error.status, problem: error.message })
    }
    setCookie(config, reply, { name: attemptCookie, value: binding, seconds: attemptSeconds })
    return reply.redirect(`/sign-in/code?next=${encodeURIComponent(next)}`, 303)
  })

  app.get<WithNext>('/sign-in/code', async (request, reply) => {
    const next = localPath(request.query.next)
    const binding = readCookie(config, request, attemptCookie)
    const address = binding && (await findCodeAddress(database, 'sign_in', binding))
    if (!address) return reply.redirect(`/sign-in?next=${encodeURIComponent(next)}`, 303)
    return sendCodePage(reply, { next, address })
  })

  app.post<WithNext>('/sign-in/code', async (request, reply) => {
    const next = localPath(request.query.next)
    const binding = readCookie(config, request, attemptCookie)
    const code = fieldOf(request, 'code')
    const browser = browserOf(request)
    const tried: SignInOutcome = binding ? await signInWithCode(services, { binding, code, browser }) : { outcome: 'none' }
    if (tried.outcome === 'signed_in') {
      setCookie(config, reply, { name: attemptCookie, value: '', seconds: 0 })
      setCookie(config, reply, { name: knownCookie, value: tried.known, seconds: knownSeconds })
      await welcome(services, request, reply, tried.secret)
      return reply.redirect(next, 303)
    }
    if (tried.outcome !== 'wrong') return sendAddressPage(reply, { next, ...refusals[tried.outcome] })
    const address = binding && (await findCodeAddress(database, 'sign_in', binding))
    return sendCodePage(reply, { next, address: address ?? '', isWrong: true })
  })

  app.post('/sign-out', async (request, reply) => {
    const secret = sessionSecretOf(services, request)
    if (secret !== null) await signOut(services, secret, request.id)
    forgetSession(services, reply)
    return reply.redirect('/sign-in', 303)
  })
}

export const browserOf = (request: FastifyRequest): Browser => ({
  user_agent: request.headers['user-agent'] ?? null,
  ip: addressOf(request) || null,
  request_id: request.id,
})

/** A new session takes the place of the one that this browser had. */
export async function welcome(services: Services, request: FastifyRequest, reply: FastifyReply, secret: string): Promise<void> {
  const before = sessionSecretOf(services, request)
  if (before !== null) await signOut(services, before, request.id)
  keepSession(services, reply, secret)
}

const refusals = {
  none: { status: 400, problem: 'This browser waits for no code. Type your address to get one.' },
  expired: { status: 410, problem: 'That code is too old: each works for ten minutes. Get a new one.' },
  exhausted: { status: 410, problem: 'That code was tried too often and has stopped working. Get a new one.' },
}

interface AddressPage {
  next: string
  typed?: string
  status?: number
  problem?: string
}

/** Not type=email: browsers would refuse addresses with letters beyond ASCII. */
function sendAddressPage(reply: FastifyReply, { next, typed = '', status = 200, problem }: AddressPage): FastifyReply {
  const wrong = problem === undefined ? null : html`<p class="wrong" role="alert">${problem}</p>`
  return sendPage(
    reply,
    status,
    'Sign in · Posthaste',
    html`<h1>Sign in</h1>${wrong}
<form method="post" action="/sign-in"><input type="hidden" name="next" value="${next}">
<label for="email">Your e-mail address</label>
<input type="text" id="email" name="email" value="${typed}" inputmode="email" autocomplete="email" autocapitalize="none" required autofocus maxlength="320">
<button>Send me a code</button></form>
<p class="soft">There is no password. We mail you a code of six digits; if you have no account yet, it makes one.</p>`,
  )
}

function sendCodePage(reply: FastifyReply, { next, address, isWrong = false }: { next: string; address: string; isWrong?: boolean }) {
  const wrong = isWrong ? html`<p class="wrong" role="alert">That is not the code. Use the newest mail, and type all six digits.</p>` : null
  return sendPage(
    reply,
    isWrong ? 401 : 200,
    'Your code · Posthaste',
    html`<h1>Look into your mailbox</h1>${wrong}
<p>We sent a mail to <strong>${address}</strong>. It has a code of six digits, which works for ten minutes.</p>
<form method="post" action="/sign-in/code?next=${encodeURIComponent(next)}"><label for="code">The code</label>
<input type="text" id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]{6,9}" maxlength="9" required autofocus>
<button>Sign in</button></form>
<p class="soft">Nothing came? Look among the unwanted mail, or <a href="/sign-in?next=${encodeURIComponent(next)}">ask for another one</a> after a minute.</p>`,
  )
}
