import type { FastifyInstance } from 'fastify'
import { areCertificatesOurs } from '../features/certificates/index.ts'
import { warnOfOpenDoors } from '../features/identity/index.ts'
import { apiAudiences, createOAuthAuthenticate } from '../features/oauth/index.ts'
import { createAuthenticatePayer } from '../features/payments/index.ts'
import { findSiteByHost } from '../features/site-domains/index.ts'
import { createAuthenticate } from '../features/tokens/index.ts'
import { buildLines } from '../features/waiting-lines/index.ts'
import { startRateLimit } from '../http/rate-limit.ts'
import { addReference } from '../http/reference.ts'
import { createServer, type ServerParts } from '../http/server.ts'
import { allOperations } from '../operations/all-operations.ts'
import type { Services } from '../operations/context.ts'
import { addAccountPages } from '../site/account/account.ts'
import { addAgentPages } from '../site/account/agents.ts'
import { addAppPages } from '../site/account/apps.ts'
import { addMailboxPages } from '../site/account/mailboxes.ts'
import { addTeamPages } from '../site/account/team.ts'
import { addTokenPages } from '../site/account/tokens.ts'
import { addAcmeChallenges } from '../site/acme-challenge.ts'
import { addConfirmPages } from '../site/confirm.ts'
import { addDiscovery } from '../site/discovery.ts'
import { showError } from '../site/error-page.ts'
import { addHomePage } from '../site/home.ts'
import { addInvitePages } from '../site/invite.ts'
import { addOAuth } from '../site/oauth-endpoints.ts'
import { addOutbox } from '../site/outbox.ts'
import { addOwnDataPages } from '../site/own-data.ts'
import { addPostApprovalPages } from '../site/post-approval.ts'
import { addPreferencesPages } from '../site/preferences.ts'
import { addEmbedding } from '../site/public/embed.ts'
import { createSiteHosts } from '../site/public/hosts.ts'
import { addLikes } from '../site/public/like.ts'
import { addPublicSite } from '../site/public/public-site.ts'
import { addSubscribePages } from '../site/public/subscribe.ts'
import { addSesHook } from '../site/ses-hook.ts'
import { addSignInPages } from '../site/sign-in.ts'
import { addSignInLinkPages } from '../site/sign-in-link.ts'
import { addTracking } from '../site/tracking.ts'
import { addUnsubscribePages } from '../site/unsubscribe.ts'
import { addWaitlistPages } from '../site/waitlist.ts'
import { addJoinPages } from '../site/waitlist-join.ts'
import { addHttps } from './https.ts'

/** The API, the reference and the public pages on one port. */
export async function startHttpRole(
  services: Services,
  { isReady, trouble }: Pick<ServerParts, 'isReady' | 'trouble'>,
): Promise<FastifyInstance> {
  const { database, clock, log, config } = services
  await buildLines(database)
  warnOfOpenDoors(services)
  const rateLimit = startRateLimit({ database, clock, log, limit: config.RATE_LIMIT_PER_MINUTE })
  const byKey = createAuthenticate({ database, clock, log })
  const byOAuth = createOAuthAuthenticate(services, apiAudiences(config))
  const hosts = createSiteHosts(config, (host) => findSiteByHost(database, host))
  const app = createServer({
    services,
    operations: allOperations,
    authenticate: (credential) => (credential.startsWith('sk_') ? byKey(credential) : byOAuth(credential)),
    authenticatePayer: createAuthenticatePayer(services),
    rateLimit,
    isReady,
    trouble,
    showError,
    rewriteUrl: (request) => hosts.rewrite(request),
    pages: [
      addReference,
      (scope) => addHomePage(scope, services),
      (scope) => addAcmeChallenges(scope, services),
      (scope) => addConfirmPages(scope, services),
      (scope) => addUnsubscribePages(scope, services),
      (scope) => addPreferencesPages(scope, services),
      (scope) => addOwnDataPages(scope, services),
      (scope) => hosts.addRoutes(scope),
      (scope) => addPublicSite(scope, services),
      (scope) => addSubscribePages(scope, services),
      (scope) => addEmbedding(scope, services),
      (scope) => addLikes(scope, services),
      (scope) => addJoinPages(scope, services),
      (scope) => addWaitlistPages(scope, services),
      (scope) => addPostApprovalPages(scope, services),
      (scope) => addTracking(scope, services),
      (scope) => addSesHook(scope, services),
      (scope) => addOutbox(scope, services),
      (scope) => addSignInPages(scope, services),
      (scope) => addSignInLinkPages(scope, services),
      (scope) => addAccountPages(scope, services),
      (scope) => addMailboxPages(scope, services),
      (scope) => addTokenPages(scope, services),
      (scope) => addTeamPages(scope, services),
      (scope) => addAgentPages(scope, services),
      (scope) => addInvitePages(scope, services),
      (scope) => addAppPages(scope, services),
      (scope) => addDiscovery(scope, services),
      (scope) => addOAuth(scope, services),
    ],
  })
  app.addHook('onClose', async () => rateLimit.stop())
  const https = areCertificatesOurs(config) ? addHttps(app, services) : null
  await app.listen({ port: config.PORT, host: config.HOST })
  await https?.listen().catch(async (error: unknown) => {
    await app.close()
    throw error
  })
  return app
}
