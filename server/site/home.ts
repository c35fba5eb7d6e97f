import type { FastifyInstance } from 'fastify'
import { html } from '../base/html.ts'
import { isLocalUrl } from '../base/local-url.ts'
import type { Services } from '../operations/context.ts'
import { sendPage } from './page.ts'

/** What stands at the root until the dashboard does: the way to everything that is there. */
export function addHomePage(app: FastifyInstance, { config }: Services): void {
  const outbox =
    config.OUTBOUND === 'capture' && isLocalUrl(config.PUBLIC_URL)
      ? html`<li><a href="/dev/outbox">Captured mail</a> (from this machine only)</li>`
      : null
  const content = html`<h1>Posthaste is running</h1>
<p>The dashboard will live here. Until then, the API does all there is to do.</p>
<ul><li><a href="/account">Sign in</a>: your account, keys and team</li><li><a href="/reference">API reference</a></li><li><a href="/v1/openapi.json">openapi.json</a></li>${outbox}</ul>
<pre>curl -H "Authorization: Bearer sk_…" ${config.API_URL}/lists</pre>`
  app.get('/', async (_request, reply) => sendPage(reply, 200, 'Posthaste', content))
}
