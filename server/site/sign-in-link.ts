import type { FastifyInstance, FastifyReply } from 'fastify'
import { html } from '../base/html.ts'
import { isSignInLink } from '../features/identity/index.ts'
import { signInWithLink } from '../features/sessions/index.ts'
import type { Services } from '../operations/context.ts'
import { acceptForms } from './forms.ts'
import { sendPage } from './page.ts'
import { browserOf, welcome } from './sign-in.ts'

/** Where the link of the first start, and of `posthaste sign-in`, leads. Looking uses nothing up; the button does, once. */
export function addSignInLinkPages(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)
  const path = '/sign-in/link/:secret'

  app.get<{ Params: { secret: string } }>(path, async ({ params }, reply) => {
    if (!(await isSignInLink(services.database, params.secret, services.clock.now()))) return sendOver(reply)
    return sendPage(
      reply,
      200,
      'Sign in · Posthaste',
      html`<h1>Sign in</h1><p>This link signs you in on this device. It works once.</p><form method="post"><button>Sign me in</button></form>`,
    )
  })

  app.post<{ Params: { secret: string } }>(path, async (request, reply) => {
    const secret = await signInWithLink(services, { secret: request.params.secret, browser: browserOf(request) })
    if (secret === null) return sendOver(reply)
    await welcome(services, request, reply, secret)
    return reply.redirect('/account', 303)
  })
}

const sendOver = (reply: FastifyReply): FastifyReply =>
  sendPage(
    reply,
    404,
    'Link not valid · Posthaste',
    html`<h1>This link is not valid</h1><p>It was used already, is older than an hour, or was cut off on its way.</p>
<p>Run <code>npx posthaste sign-in</code> on the server for a new one, or <a href="/sign-in">sign in by mail</a>.</p>`,
  )
