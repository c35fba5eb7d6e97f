import { type Config, readConfig } from '../base/config.ts'
import { isLocalUrl } from '../base/local-url.ts'
import { createLog } from '../base/log.ts'
import { type Posthaste, startPosthaste } from '../main.ts'

/** Runs until it is told to stop: once politely, a second time at once. */
export async function start(): Promise<void> {
  const began = performance.now()
  const config = readConfig(process.env)
  let first: Posthaste['first'] = null
  const onFirstStart = (made: typeof first) => {
    first = made
  }
  const starting = startPosthaste({ config, log: createLog(config.LOG_LEVEL), onFirstStart })
  stopOnSignal(starting)
  try {
    console.log(welcome(await starting, Math.round(performance.now() - began)))
  } catch (error) {
    // They are made once, and the next start will not show them.
    if (first) console.log(firstSteps(config, first).join('\n'))
    throw error
  }
}

const stopMs = 30_000

/** In place before the start: a Ctrl-C in the middle of it must not leave the database server behind. */
function stopOnSignal(starting: Promise<Posthaste>): void {
  let stopping = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, async () => {
      if (stopping) process.exit(1)
      stopping = true
      console.log('\nStopping: finishing what is under way …')
      // Whatever hangs, a database that answers nobody included: the exit itself tells our own server to stop.
      setTimeout(() => process.exit(1), stopMs).unref()
      // A start that fails has cleaned up after itself, and says why on its own.
      await starting.then((posthaste) => posthaste.stop()).catch(() => {})
      process.exit(0)
    })
  }
}

function welcome({ services: { config }, place, first, http, smtpPort }: Posthaste, ms: number): string {
  if (!http) {
    const running = `Posthaste is running (${config.ROLES.join(', ')}), started in ${ms} ms. Data: ${place}`
    return first ? ['', ...firstSteps(config, first), running].join('\n') : running
  }
  return [
    '',
    `  Posthaste is running (started in ${ms} ms)`,
    '',
    `  Home, dashboard to come   ${config.PUBLIC_URL}/`,
    `  API                       ${config.API_URL}`,
    `  API reference             ${config.PUBLIC_URL}/reference`,
    ...capturedMail(config),
    ...(smtpPort === null ? [] : [`  Mail comes in at          smtp://${config.SMTP_HOST}:${smtpPort}`]),
    `  Data                      ${place}`,
    '',
    ...(first ? firstSteps(config, first) : laterSteps),
    '  Try it:',
    '',
    `    curl -X POST ${config.API_URL}/lists -H "Authorization: Bearer ${(first && shownKey(config, first)) ?? '$KEY'}" -H "Content-Type: application/json" -d '{"name":"My newsletter"}'`,
    '',
    '  Ctrl-C stops it.',
    '',
  ].join('\n')
}

/** The outbox is for the eyes of this machine; a site for others has none. */
function capturedMail({ OUTBOUND, PUBLIC_URL }: Config): string[] {
  if (OUTBOUND !== 'capture') return []
  if (isLocalUrl(PUBLIC_URL)) return [`  Captured mail             ${PUBLIC_URL}/dev/outbox`]
  return ['  Mail                      is captured, and nobody can read it here. Set OUTBOUND=smtp://… to send it.']
}

type First = NonNullable<Posthaste['first']>

/** A key that the operator chose is known to them, and is better not printed. */
const shownKey = (config: Config, { key }: First): string | null => (key === config.BOOTSTRAP_API_KEY ? null : key)

function firstSteps(config: Config, first: First): string[] {
  const key = shownKey(config, first)
  return [
    `  Sign in as ${config.BOOTSTRAP_EMAIL} (works once, for an hour):`,
    '',
    `    ${first.signInUrl}`,
    '',
    ...(key
      ? ['  Your API key, shown this once. Keep it:', '', `    ${key}`, '']
      : ['  Your API key is the one that BOOTSTRAP_API_KEY names.', '']),
  ]
}

const laterSteps = [
  '  Sign in without mail:         npx posthaste sign-in',
  '  Lost your key? Make another:  npx posthaste keys create --name laptop',
  '',
]
