import { z } from 'zod'
import {
  apiUrl,
  commaList,
  domain,
  flag,
  httpsUrl,
  megabytes,
  networkList,
  origin,
  port,
  portList,
  positive,
  proxyList,
  readableFile,
  roles,
  rolesList,
  secondsList,
  serverList,
  url,
} from './config-values.ts'
import { domainLimits } from './domain-limit.ts'
import { isLocalUrl } from './local-url.ts'
import { plans } from './plans.ts'

type Default = string | null | ((settings: Record<string, unknown>) => string)

export interface Setting<Schema extends z.ZodType = z.ZodType, Fallback extends Default = Default> {
  schema: Schema
  /** What counts when the variable is unset; null means "unset". A function reads the settings above it. */
  default: Fallback
  /** How the docs tell a computed default. */
  default_text?: string
  about: string
}
const setting = <Schema extends z.ZodType, Fallback extends Default>(value: Setting<Schema, Fallback>) => value

const isLocal = (settings: Record<string, unknown>): boolean => isLocalUrl(String(settings.PUBLIC_URL))

/** Mail needs a domain with a dot; for a trial on localhost or an IP address, one that exists nowhere. */
const mailDomainFor = (host: string): string =>
  /^(?=.*[a-z])[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(host) && !host.endsWith('.localhost') ? host : 'posthaste.test'

const later = (capability: string) => ` Read by ${capability}; this release accepts it and does not use it yet.`

/**
 * Every setting: its name in the environment, what it accepts, its default and what it is for. `docs/configuration.md` is made
 * from this table (`npm run generate`), and a value that does not fit stops the start with one line that names it.
 */
export const settings = {
  PORT: setting({ schema: port, default: '8080', about: 'TCP port of the HTTP server.' }),
  HOST: setting({
    schema: z.string().min(1),
    default: 'localhost',
    about: 'Address the HTTP server listens on. `0.0.0.0` or `::` opens it to the network.',
  }),
  DATA_DIR: setting({
    schema: z.string().min(1),
    default: null,
    default_text: '`./data`, or `/var/lib/posthaste` when root runs it in a folder that other users cannot enter',
    about: 'Folder for the embedded database, the generated secret key and stored files.',
  }),
  DATABASE_URL: setting({
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// address' }),
    default: null,
    default_text: 'unset: Posthaste runs its own PostgreSQL under `DATA_DIR`',
    about: 'A PostgreSQL server, 15 or newer.',
  }),
  ROLES: setting({
    schema: rolesList,
    default: roles.join(','),
    about: 'What this process does. Start as many processes as you like on one database.',
  }),
  PUBLIC_URL: setting({
    schema: url,
    default: (s) => `http://localhost:${s.PORT}`,
    default_text: '`http://localhost:$PORT`',
    about: 'Address of the main site, used in every link that leaves by mail.',
  }),
  API_URL: setting({
    schema: apiUrl,
    default: (s) => `${s.PUBLIC_URL}/v1`,
    default_text: '`$PUBLIC_URL/v1`',
    about: 'Public address of the API, as `Link` headers and documents show it. It ends with `/v1`.',
  }),
  AUTH_URL: setting({
    schema: origin,
    default: (s) => String(s.PUBLIC_URL),
    default_text: '`$PUBLIC_URL`',
    about: 'Public origin of the pages and the identity endpoints (`/account`, `/api/tokens`, `/oauth/…`), without a path.',
  }),
  MCP_URL: setting({
    schema: url,
    default: (s) => `${s.PUBLIC_URL}/mcp`,
    default_text: '`$PUBLIC_URL/mcp`',
    about: `Public address of the MCP server.${later('the MCP server')}`,
  }),
  MAIL_DOMAIN: setting({
    schema: domain.transform((text) => text.toLowerCase()),
    default: (s) => mailDomainFor(new URL(String(s.PUBLIC_URL)).hostname),
    default_text: 'the host of `PUBLIC_URL`; `posthaste.test` where that is no domain (localhost, an IP address)',
    about: 'Root domain of the addresses that lists and mailboxes get.',
  }),
  MX_HOST: setting({
    schema: domain.transform((text) => text.toLowerCase()),
    default: (s) => String(s.MAIL_DOMAIN),
    default_text: '`$MAIL_DOMAIN`',
    about:
      'Name under which the world reaches the inbound SMTP server: what the MX records of `MAIL_DOMAIN`, of `rp.$MAIL_DOMAIN` and of customers’ domains point at.',
  }),
  SMTP_PORT: setting({
    schema: port,
    default: '2525',
    about: 'Port of the inbound SMTP server. The world delivers to port 25: send that here, or let this program open it.',
  }),
  SMTP_HOST: setting({
    schema: z.string().min(1),
    default: 'localhost',
    about: 'Address the inbound SMTP server listens on. `0.0.0.0` or `::` opens it to the network.',
  }),
  SMTP_MAX_SIZE: setting({
    schema: megabytes,
    default: '25',
    about: 'The largest message that is taken in, in megabytes.',
  }),
  SMTP_CONNECTIONS: setting({
    schema: positive,
    default: '200',
    about: 'How many servers may be connected to hand over mail at the same time. One address may have 20 of them.',
  }),
  SMTP_TLS_CERT: setting({
    schema: z.string().min(1),
    default: null,
    default_text: 'one of our own making, kept in `DATA_DIR/smtp-certificate.pem`',
    about: 'File with the certificate for STARTTLS, and the ones it is signed by after it. Read again when it changes.',
  }),
  SMTP_TLS_KEY: setting({ schema: z.string().min(1), default: null, about: 'File with the key of that certificate.' }),
  SMTP_PROXY_PROTOCOL: setting({
    schema: proxyList,
    default: '',
    default_text: 'off',
    about:
      'Comma-separated addresses of load balancers that put a PROXY line (version 1) before each connection, or `*` when every connection comes through one.',
  }),
  SMTP_RELAYS: setting({
    schema: networkList,
    default: '',
    default_text: 'none',
    about:
      'Comma-separated addresses or networks (`10.0.0.0/8`) of your own servers that hand mail on: limits, DNSBL and GREYLISTING are not for them.',
  }),
  DNSBL: setting({
    schema: commaList.pipe(z.array(domain)),
    default: '',
    default_text: 'off',
    about: 'Comma-separated DNS block lists, such as `zen.spamhaus.org`: servers on one of them are refused.',
  }),
  GREYLISTING: setting({
    schema: flag,
    default: 'false',
    about: 'Whether the first mail of an unknown sender is asked to come again after a minute. It keeps out spam, and codes arrive late.',
  }),
  OUTBOUND: setting({
    schema: z
      .string()
      .regex(/^(capture|direct(\?.+)?|smtps?:\/\/.+|ses:\/\/.+)$/, 'must be capture, direct, smtp://…, smtps://… or ses://…'),
    default: 'capture',
    about:
      'How mail leaves: `capture` keeps it (`GET /dev/outbox` on localhost), `smtp://user:password@host:port` or `smtps://…` hands it to a relay, or by `weight` to several with commas between them (`smtp://a?weight=2&connections=10&rate=50,smtp://b`), `direct` to the servers of the recipients’ domains (`direct?connections=5&rate=20` for each), and `ses://KEY:SECRET@REGION?configuration_set=…` to Amazon SES.',
  }),
  SES_TOPICS: setting({
    schema: commaList.pipe(
      z.array(
        z.string().regex(/^arn:aws[\w-]*:sns:[a-z\d-]+:\d{12}:[\w.-]+$/, 'must be ARNs of SNS topics, arn:aws:sns:REGION:ACCOUNT:NAME'),
      ),
    ),
    default: '',
    default_text: 'none: `/hooks/ses` is closed',
    about: 'Comma-separated ARNs of the SNS topics by which Amazon SES tells of bounces and complaints at `/hooks/ses`.',
  }),
  SNS_HOST: setting({
    schema: z.string().regex(/^[a-z\d.-]+(:\d{1,5})?$/, 'must be a host, or host:port'),
    default: null,
    default_text: '`sns.REGION.amazonaws.com`',
    about: 'Host of the certificates and confirmations of Amazon SNS; another one for tests.',
  }),
  DOMAIN_LIMITS: setting({
    schema: domainLimits,
    default: '',
    default_text: 'unset: none',
    about:
      'How fast posts may go to the recipients’ domains, whichever way mail leaves: `gmail.com=20/s,5; *=50/s` is 20 a second and at most 5 at once to gmail.com, and 50 a second to each other domain. For each process that sends.',
  }),
  DNS_SERVERS: setting({
    schema: serverList,
    default: '',
    default_text: 'the system’s',
    about: 'Comma-separated DNS servers (`address` or `address:port`) for look-ups.',
  }),
  SECRET_KEY: setting({
    schema: z.string().min(32, 'must have at least 32 characters'),
    default: null,
    default_text: 'generated, and kept in `DATA_DIR/secret.key`',
    about: 'Signs the links in mail and encrypts secrets at rest. All processes on one database need the same one.',
  }),
  BOOTSTRAP_API_KEY: setting({
    schema: z.string().regex(/^sk_[A-Za-z0-9_]{16,128}$/, 'must begin with sk_ and have 16 to 128 letters or digits after it'),
    default: null,
    about: 'The owner’s first API key, for automated installs. Read on the first start only.',
  }),
  BOOTSTRAP_EMAIL: setting({
    schema: z.email({ pattern: z.regexes.html5Email }),
    default: (s) => `owner@${s.MAIL_DOMAIN}`,
    default_text: '`owner@$MAIL_DOMAIN`',
    about: 'The instance owner’s address. Read on the first start only.',
  }),
  RATE_LIMIT_PER_MINUTE: setting({
    schema: positive,
    default: '60',
    about: 'Requests a minute for each key, and for each address without one.',
  }),
  LEASE_SECONDS: setting({
    schema: positive,
    default: '120',
    about:
      'After how long without a sign of life what a sender had claimed passes to another. Of broadcasts, a sender that starts again with its DATA_DIR takes it up at once.',
  }),
  DELIVERY_RETENTION_DAYS: setting({
    schema: positive,
    default: '400',
    about:
      'How long is kept who got which post. Links in older mail, the one to unsubscribe among them, open nothing any more; the counts of the post stay.',
  }),
  SIGN_UPS: setting({
    schema: z.enum(['open', 'invited'], { error: 'must be open or invited' }),
    default: 'open',
    about: 'Who may make an account by signing in: anybody, or only people who were invited to a project.',
  }),
  CODES_PER_HOUR: setting({
    schema: positive,
    default: (s) => (isLocal(s) ? '1000' : '30'),
    default_text: '`30`; `1000` on localhost',
    about:
      'How many sign-in and claim codes one network address may ask for in an hour. One mailbox gets at most five an hour and twenty a day, whoever asks.',
  }),
  AGENT_SIGN_UPS: setting({
    schema: z
      .enum(['anonymous,email', 'anonymous', 'email', 'off'], { error: 'must be anonymous,email, or one of the two, or off' })
      .transform((text) => text.split(',') as ('anonymous' | 'email' | 'off')[]),
    default: 'anonymous,email',
    about: 'How agents may register at /agent/auth: without anybody, with a person’s e-mail address, both or not at all.',
  }),
  AGENT_REGISTRATIONS_PER_HOUR: setting({
    schema: positive,
    default: (s) => (isLocal(s) ? '1000' : '5'),
    default_text: '`5`; `1000` on localhost',
    about:
      'How many agents may register anonymously from one network address in an hour; with an e-mail address twelve times as many. From everywhere together: twenty times as many anonymously, two hundred times with an address.',
  }),
  CLAIM_WIDENS_FIRST_KEY: setting({
    schema: flag,
    default: 'true',
    about: 'Whether the key that an agent registered with may write, too, once a human has claimed the agent. Its new key always may.',
  }),
  APP_REGISTRATIONS_PER_HOUR: setting({
    schema: positive,
    default: (s) => (isLocal(s) ? '1000' : '30'),
    default_text: '`30`; `1000` on localhost',
    about: 'How many OAuth apps may register themselves from one network address in an hour.',
  }),
  JOINS_PER_HOUR: setting({
    schema: positive,
    default: (s) => (isLocal(s) ? '1000' : '30'),
    default_text: '`30`; `1000` on localhost',
    about: 'How often somebody may try to join a list from one network address, or through the key of one other project, in an hour.',
  }),
  DISPOSABLE_DOMAINS: setting({
    schema: commaList.pipe(z.array(domain.transform((text) => text.toLowerCase()))),
    default: '',
    default_text: 'none beside the well-known ones',
    about: 'Comma-separated domains of throw-away mailboxes, beside those that are known: their addresses cannot join.',
  }),
  ALLOW_PRIVATE_WEBHOOKS: setting({
    schema: flag,
    default: 'false',
    about:
      'Lets webhooks, the look at what an OAuth app publishes about itself, and questions to a domain’s own name servers reach private addresses, on any port and without TLS, for development.',
  }),
  WEBHOOK_PORTS: setting({
    schema: portList,
    default: '443,8443',
    about: 'Comma-separated ports that the addresses of webhooks and of what OAuth apps publish may name.',
  }),
  WEBHOOK_BACKOFF_SECONDS: setting({
    schema: secondsList,
    default: '30,300',
    about:
      'Waits before the second, third, … attempt to deliver an event to a webhook, each made longer or shorter by up to a fifth. There is one attempt more than waits.',
  }),
  STRIPE_SECRET_KEY: setting({ schema: z.string().min(1), default: null, about: 'Key of the Stripe account.' }),
  STRIPE_PROFILE: setting({
    schema: z.string().regex(/^profile_\w+$/, 'must be a Stripe profile id, profile_…'),
    default: null,
    about: 'Stripe profile that agents make their payment tokens for.',
  }),
  PAYMENTS: setting({
    schema: z.enum(['sandbox', 'stripe', 'off'], { error: 'must be sandbox, stripe or off' }),
    default: (s) => (s.STRIPE_SECRET_KEY && s.STRIPE_PROFILE ? 'stripe' : isLocal(s) ? 'sandbox' : 'off'),
    default_text: '`stripe` when STRIPE_SECRET_KEY and STRIPE_PROFILE are set; else `sandbox` on localhost, `off` elsewhere',
    about:
      'Card processor for plans and for sends over the plan. `sandbox` charges nothing and takes test tokens; `stripe` needs STRIPE_SECRET_KEY and STRIPE_PROFILE; `off` sells nothing.',
  }),
  STRIPE_API_URL: setting({ schema: url, default: 'https://api.stripe.com', about: 'Address of the Stripe API; another one for tests.' }),
  STRIPE_TOKEN_PARAMETER: setting({
    schema: z.string().regex(/^\w+(\[\w+\])*$/, 'must be the name of a Stripe parameter, such as shared_payment_granted_token'),
    default: 'shared_payment_granted_token',
    about: 'Where Stripe expects the payment token of an agent; it has moved between preview versions of its API.',
  }),
  PLANS: setting({
    schema: plans,
    default: '{"anonymous":10,"free":100,"light":2000,"plus":10000,"max":30000}',
    about:
      'Plans and their e-mails a month, as JSON. A plan is a number, or {"emails":2000,"price_cents":900,"stripe_price":"price_…"}; plans with a `stripe_price` can be bought with PAYMENTS=stripe. `anonymous` and `free` must be there; `unlimited` always is. Keep a plan as long as a project has it: one that is gone counts as `free`.',
  }),
  HTTPS_PORT: setting({
    schema: port,
    default: null,
    default_text: 'unset: a proxy in front does TLS',
    about:
      'Port that serves site domains, and the hosts of PUBLIC_URL, API_URL, AUTH_URL and MCP_URL, over TLS with certificates that Posthaste orders and renews. Set it for every process. The world comes to port 443, and the certificate authority looks at port 80: send those here and to PORT.',
  }),
  ACME_DIRECTORY_URL: setting({
    schema: httpsUrl,
    default: null,
    default_text: 'Let’s Encrypt',
    about: 'Directory of the certificate authority (RFC 8555), asked when HTTPS_PORT is set.',
  }),
  ACME_EMAIL: setting({
    schema: z.email({ pattern: z.regexes.html5Email }),
    default: null,
    about: 'Address that the certificate authority may write to about the account.',
  }),
  ACME_CA_FILE: setting({
    schema: readableFile,
    default: null,
    about: 'File with the root certificate (PEM) that a private certificate authority’s own server is trusted by.',
  }),
  SITES_AT: setting({
    schema: z.enum(['subdomain', 'path'], { error: 'must be subdomain or path' }),
    default: 'subdomain',
    about:
      'Where sites without a domain of their own say that they are: `https://list.example.com`, which needs a wildcard in DNS and in the certificate, or `https://example.com/s/list`, which needs nothing.',
  }),
  SITE_TARGET: setting({
    schema: domain.transform((text) => text.toLowerCase()),
    default: (s) => `sites.${mailDomainFor(new URL(String(s.PUBLIC_URL)).hostname)}`,
    default_text: '`sites.` and the host of `PUBLIC_URL`',
    about: 'Name that the domains of sites point at: it, and every name below it (`*.sites.example.com`), must lead to this server.',
  }),
  BLOB_URL: setting({
    schema: z.string().regex(/^s3(\+http)?:\/\/./i, 'must be s3://key:secret@host/bucket?region=…'),
    default: null,
    default_text: 'a folder under `DATA_DIR`',
    about:
      'S3-compatible store for raw mail, needed when several machines share one database: `s3://key:secret@host/bucket?region=eu-central-1`, or `s3+http://…` without TLS.',
  }),
  LLM_URL: setting({ schema: url, default: null, about: `OpenAI-compatible or Anthropic endpoint.${later('automations')}` }),
  LLM_API_KEY: setting({ schema: z.string().min(1), default: null, about: `Key for that endpoint.${later('automations')}` }),
  METRICS_TOKEN: setting({
    schema: z.string().regex(/^[\x21-\x7e]{16,512}$/, 'must have 16 to 512 letters, digits or signs, without spaces'),
    default: null,
    default_text: 'unset: `GET /metrics` is not there',
    about: 'Opens `GET /metrics` (numbers for Prometheus) to whoever sends it as `Authorization: Bearer …`.',
  }),
  LOG_LEVEL: setting({
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent'], { error: 'must be debug, info, warn, error or silent' }),
    default: 'warn',
    about:
      'How much is logged: debug, info, warn, error or silent. With debug, one line for each request, each attempt to send with the other server’s answer, and each mail that came or was refused.',
  }),
}
