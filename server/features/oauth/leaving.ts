import type { IncomingMessage } from 'node:http'
import type Provider from 'oidc-provider'
import type { errors, KoaContextWithOIDC } from 'oidc-provider'
import { isOnDevice } from './client-rules.ts'

/** Why an app's request failed, and where the app would have the person sent with that. */
export interface Refusal {
  error: string
  description: string
  leads_to?: string
}

/**
 * Anybody may register an app, so nobody is sent to its site by following a link to ours (RFC 9700 section 4.11.2): what fails before
 * the person has decided is shown here, with the way on to take or to leave. Apps on the person's own device hear of it at once.
 */
export function stayUntilDecided(
  provider: Provider,
  { asksAt, show }: { asksAt: string; show: (request: IncomingMessage, refusal: Refusal) => void },
): void {
  const failures = new WeakMap<IncomingMessage, errors.OIDCProviderError>()
  provider.on('authorization.error', ({ req }, error) => failures.set(req, error))

  provider.use(async (context, next) => {
    await next()
    // The library gives its own context to every route that it knows.
    const ctx = context as KoaContextWithOIDC
    const redirect = String(ctx.res.getHeader('location') ?? '')
    if (!isAuthorization(ctx) || ctx.respond === false || redirect.startsWith(`${asksAt}/`)) return
    if (ctx.oidc.entities.Interaction?.result !== undefined) return
    // Without a redirect there is a form that sends itself (response_mode=form_post).
    const target = URL.parse(redirect || String(ctx.oidc.params?.redirect_uri ?? ctx.query.redirect_uri))
    if (target && isOnDevice(target.href)) return
    ctx.remove('location')
    ctx.body = null
    ctx.respond = false
    const { error = 'invalid_request', error_description: description = '' } = failures.get(ctx.req) ?? {}
    show(ctx.req, { error, description, ...(target ? { leads_to: target.href } : {}) })
  })
}

const isAuthorization = ({ oidc }: Partial<KoaContextWithOIDC>): boolean => oidc?.route === 'authorization' || oidc?.route === 'resume'
