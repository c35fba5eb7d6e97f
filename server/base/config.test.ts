import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig } from './config.ts'
import { settings } from './settings.ts'

/** What `readConfig` refuses to take, as the person at the terminal sees it. */
function refusal(env: Record<string, string>): string {
  try {
    readConfig(env)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.message
  }
  return assert.fail(`taken: ${JSON.stringify(env)}`)
}

test('an empty environment gives a program on localhost that sends no mail', () => {
  const config = readConfig({})
  assert.equal(config.PORT, 8080)
  assert.equal(config.HOST, 'localhost')
  assert.equal(config.API_URL, 'http://localhost:8080/v1')
  assert.equal(config.AUTH_URL, 'http://localhost:8080')
  assert.equal(config.MAIL_DOMAIN, 'posthaste.test')
  assert.equal(config.OUTBOUND, 'capture')
  assert.equal(config.RATE_LIMIT_PER_MINUTE, 60)
  assert.equal(config.SECRET_KEY, null)
  assert.equal(config.DATABASE_URL, null)
  assert.equal(config.PAYMENTS, 'sandbox')
  assert.deepEqual(config.ROLES, ['http', 'sender', 'inbound', 'consumers', 'scheduler'])
})

test('what is not said follows from what is', () => {
  const config = readConfig({ PUBLIC_URL: 'https://Mail.Example.com/', PORT: '9000', ROLES: ' http , sender,' })
  assert.equal(config.PUBLIC_URL.toLowerCase(), 'https://mail.example.com')
  assert.equal(config.API_URL.toLowerCase(), 'https://mail.example.com/v1')
  assert.equal(config.MAIL_DOMAIN, 'mail.example.com')
  assert.equal(config.BOOTSTRAP_EMAIL, 'owner@mail.example.com')
  assert.equal(config.PAYMENTS, 'off')
  assert.deepEqual(config.ROLES, ['http', 'sender'])
  assert.equal(readConfig({ PORT: '9000' }).PUBLIC_URL, 'http://localhost:9000')
})

test('an empty variable counts as unset', () => {
  assert.deepEqual(readConfig(Object.fromEntries(Object.keys(settings).map((name) => [name, '']))), readConfig({}))
})

test('any address that a browser opens will do for PUBLIC_URL alone: a name, a name without dots, an IP address', () => {
  for (const host of ['news.example.com', 'raspberrypi', 'raspberrypi.local', '192.168.1.20', 'localhost', '127.0.0.1', '[::1]'])
    assert.doesNotThrow(() => readConfig({ PUBLIC_URL: `http://${host}:8080` }), host)
  assert.doesNotThrow(() => readConfig({ MAIL_DOMAIN: 'localhost' }))
})

/** Every setting has at least one value that it refuses; a new one without a line here fails the test below. */
const bad: Record<keyof typeof settings, string[]> = {
  PORT: ['x', '-1', '65536', '80.5', '80,81'],
  HOST: [],
  DATA_DIR: [],
  DATABASE_URL: ['mysql://x', 'postgres', '/var/run', 'http://localhost'],
  LEASE_SECONDS: ['0', '1.5', 'long'],
  DELIVERY_RETENTION_DAYS: ['0', '-1', 'x', '1.5'],
  SIGN_UPS: ['closed'],
  CODES_PER_HOUR: ['0', 'x'],
  AGENT_SIGN_UPS: ['on', 'email,anonymous'],
  AGENT_REGISTRATIONS_PER_HOUR: ['0', 'many'],
  JOINS_PER_HOUR: ['0', 'many'],
  DISPOSABLE_DOMAINS: ['-', 'a.example,b c'],
  CLAIM_WIDENS_FIRST_KEY: ['maybe'],
  ROLES: ['web', 'http,web', ',', ' '],
  PUBLIC_URL: ['example.com', 'ftp://example.com', 'javascript:alert(1)', 'http://'],
  API_URL: ['/v1', 'example.com/v1', 'https://api.example.com', 'https://api.example.com/v2', 'https://api.example.com/?a=/v1'],
  AUTH_URL: ['id.example.com', 'https://example.com/id', 'https://example.com/?a', 'https://example.com/#a', 'https://me@example.com'],
  MCP_URL: ['mcp'],
  MX_HOST: ['mx example.com', '-a.com', 'a_b.com'],
  MAIL_DOMAIN: ['@example.com', 'exa mple.com', '-a.com', 'a..b', 'a_b.com', `${'a'.repeat(64)}.com`],
  SMTP_PORT: ['smtp', '70000'],
  SMTP_HOST: [],
  SMTP_MAX_SIZE: ['0', '101', '25MB', '1.5'],
  SMTP_CONNECTIONS: ['0', 'many', '-1'],
  SMTP_TLS_CERT: ['cert.pem'],
  SMTP_TLS_KEY: ['key.pem'],
  SMTP_PROXY_PROTOCOL: ['true', '10.0.0.0/8', '127.0.0.1,proxy.test'],
  SMTP_RELAYS: ['relay.test', '10.0.0.0/33', '10.0.0/8', '::1/129', '10.0.0.1/8/8'],
  DNSBL: ['-', 'zen.spamhaus.org,b l', '.'],
  GREYLISTING: ['on', 'maybe'],
  OUTBOUND: ['sendmail', 'http://x', 'smtp:', 'captured', 'directly', 'direct,smtp://x', 'ses', 'ses:eu-west-1', 'ses://'],
  SES_TOPICS: ['topic', 'arn:aws:sqs:eu-west-1:123456789012:q', 'arn:aws:sns:eu-west-1:123456789012:ok,x'],
  SNS_HOST: ['https://sns.example', 'a b', 'sns.example/x', 'a:b'],
  DOMAIN_LIMITS: [
    'gmail.com',
    'gmail.com=20',
    'gmail.com=0/s',
    'gmail.com=x/s',
    'gmail.com=20/s,0',
    'gmail.com=20/s;gmail.com=5/s',
    '*.com=5/s',
    ';',
  ],
  DNS_SERVERS: ['dns.example.com', '192.0.2.1:x', '2001:db8::1]:53', '192.0.2.1,resolver'],
  SECRET_KEY: ['short-secret'],
  BOOTSTRAP_API_KEY: ['sk_', 'pk_0123456789abcdef0123', 'sk_0123456789abcdef 0123'],
  BOOTSTRAP_EMAIL: ['owner', 'owner@', 'Owner <owner@example.com>'],
  RATE_LIMIT_PER_MINUTE: ['0', '-5', 'many', '1.5'],
  APP_REGISTRATIONS_PER_HOUR: ['0', 'many'],
  ALLOW_PRIVATE_WEBHOOKS: ['maybe', 'TRUE!'],
  WEBHOOK_PORTS: ['https', '443,x', '0', '65536', ','],
  WEBHOOK_BACKOFF_SECONDS: ['x', '30,x', '-1', ','],
  PAYMENTS: ['paypal'],
  STRIPE_SECRET_KEY: [],
  STRIPE_PROFILE: ['acct_1', 'profile_'],
  STRIPE_API_URL: ['stripe'],
  STRIPE_TOKEN_PARAMETER: ['a b', 'a[', 'a&b'],
  PLANS: [
    'free',
    '[]',
    'null',
    '5',
    '{}',
    '{"free":100}',
    '{"anonymous":1,"free":"many"}',
    '{"anonymous":1,"free":1.5}',
    '{"anonymous":1,"free":-1}',
    '{"anonymous":1,"free":{}}',
    '{"anonymous":1,"free":{"emails":1,"stripe":"x"}}',
    '{"anonymous":1,"free":1,"Big One":5}',
    '{"anonymous":1,"free":1,"unlimited":5}',
  ],
  ACME_DIRECTORY_URL: ['letsencrypt', 'http://ca.example/directory'],
  ACME_EMAIL: ['owner', 'mailto:owner@example.com'],
  ACME_CA_FILE: ['/nope', '/tmp'],
  SITES_AT: ['host'],
  SITE_TARGET: ['https://sites.example.com', 'a..b'],
  HTTPS_PORT: ['https', '8080'],
  BLOB_URL: ['bucket', 'https://s3.example.com/bucket', 's3://'],
  LLM_URL: ['openai'],
  LLM_API_KEY: [],
  METRICS_TOKEN: ['fifteen-letters', 'two words, but long enough', `${'x'.repeat(513)}`],
  LOG_LEVEL: ['loud', 'trace'],
}

test('each bad value is refused in one line that begins with the name of its setting', () => {
  assert.deepEqual(Object.keys(bad).sort(), Object.keys(settings).sort())
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      const message = refusal({ [name]: value })
      assert.ok(message.startsWith(`${name} `), `${name}=${value}: ${message}`)
      assert.ok(!message.includes('\n'), message)
    }
  }
})

test('limits by domain are a rate and perhaps a concurrency each', () => {
  assert.deepEqual(readConfig({}).DOMAIN_LIMITS, [])
  assert.deepEqual(readConfig({ DOMAIN_LIMITS: ' Gmail.com = 20/s , 5; *=0.5/s' }).DOMAIN_LIMITS, [
    { domain: 'gmail.com', rate: 20, concurrency: 5 },
    { domain: '*', rate: 0.5, concurrency: null },
  ])
  assert.match(refusal({ DOMAIN_LIMITS: 'gmail.com=20/s; outlook.com' }), /has "outlook.com", which is not domain=rate\/s/)
})

test('pages live at an origin: below a path of PUBLIC_URL they need one of their own', () => {
  const PUBLIC_URL = 'https://example.com/mail'
  assert.match(refusal({ PUBLIC_URL }), /^AUTH_URL must be an origin without a path, .* \(unset, it is PUBLIC_URL\)/)
  assert.equal(readConfig({ PUBLIC_URL, AUTH_URL: 'https://id.example.com/' }).AUTH_URL, 'https://id.example.com')
  assert.equal(readConfig({ PUBLIC_URL, AUTH_URL: 'https://id.example.com' }).API_URL, 'https://example.com/mail/v1')
})

test('what may hold a secret is not printed, other values are', () => {
  for (const name of ['SECRET_KEY', 'BOOTSTRAP_API_KEY', 'OUTBOUND', 'DATABASE_URL'] as const) {
    const message = refusal({ [name]: 'hunter2' })
    assert.ok(!message.includes('hunter2'), message)
  }
  assert.ok(!refusal({ DATABASE_URL: 'mysql://user:hunter2@host/db' }).includes('hunter2'))
  assert.match(refusal({ LOG_LEVEL: 'loud' }), /^LOG_LEVEL is "loud", but/)
  assert.match(refusal({ PORT: '99999' }), /^PORT is "99999", but/)
})

test('plans are numbers or objects, and unlimited is always one of them', () => {
  const free = { emails: 100, stripe_price: null, price_cents: null }
  const unlimited = { emails: null, stripe_price: null, price_cents: null }
  assert.deepEqual(readConfig({}).PLANS.free, free)
  assert.deepEqual(readConfig({}).PLANS.unlimited, unlimited)
  const PLANS = '{"anonymous":0,"free":100,"pro":{"emails":5000,"stripe_price":"price_1","price_cents":900}}'
  assert.deepEqual(readConfig({ PLANS }).PLANS, {
    unlimited,
    anonymous: { ...free, emails: 0 },
    free,
    pro: { emails: 5000, stripe_price: 'price_1', price_cents: 900 },
  })
})

test('with a Stripe account payments are real, on localhost and elsewhere; with half of one they are what they were', () => {
  const account = { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_PROFILE: 'profile_1' }
  for (const [env, payments] of [
    [account, 'stripe'],
    [{ ...account, PUBLIC_URL: 'https://example.com' }, 'stripe'],
    [{ ...account, PAYMENTS: 'off' }, 'off'],
    [{ ...account, PAYMENTS: 'sandbox', PUBLIC_URL: 'https://example.com' }, 'sandbox'],
    [{ STRIPE_SECRET_KEY: 'sk_test_1' }, 'sandbox'],
    [{ STRIPE_PROFILE: 'profile_1', PUBLIC_URL: 'https://example.com' }, 'off'],
    [{ PUBLIC_URL: 'https://example.com' }, 'off'],
  ] as const)
    assert.equal(readConfig(env).PAYMENTS, payments, JSON.stringify(env))
})

test('Stripe needs an account to charge for', () => {
  assert.match(refusal({ PAYMENTS: 'stripe' }), /^STRIPE_SECRET_KEY is needed/)
  assert.match(refusal({ PAYMENTS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_1' }), /^STRIPE_PROFILE is needed/)
  assert.doesNotThrow(() => readConfig({ PAYMENTS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_PROFILE: 'profile_1' }))
})
