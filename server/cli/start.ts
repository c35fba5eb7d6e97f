import { readConfig } from '../base/config.ts'
import { createLog } from '../base/log.ts'
import { type Posthaste, startPosthaste } from '../main.ts'

/** Runs until it is told to stop: once politely, a second time at once. */
export async function start(): Promise<void> {
  const began = performance.now()
  const config = readConfig(process.env)
  const starting = startPosthaste({ config, log: createLog(config.LOG_LEVEL) })
  stopOnSignal(starting)
  const posthaste = await starting
  console.log(welcome(posthaste, Math.round(performance.now() - began)))
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

function welcome({ services: { config }, place, first, http }: Posthaste, ms: number): string {
  if (!http) return `Posthaste is running (${config.ROLES.join(', ')}), started in ${ms} ms. Data: ${place}`
  const shownKey = first && first.key !== config.BOOTSTRAP_API_KEY ? first.key : null
  return [
    '',
    `  Posthaste is running (started in ${ms} ms)`,
    '',
    `  Home, dashboard to come   ${config.PUBLIC_URL}/`,
    `  API                       ${config.API_URL}`,
    `  API reference             ${config.PUBLIC_URL}/reference`,
    ...(config.OUTBOUND === 'capture' ? [`  Captured mail             ${config.PUBLIC_URL}/dev/outbox`] : []),
    `  Data                      ${place}`,
    '',
    ...(first
      ? [`  Sign in as ${config.BOOTSTRAP_EMAIL} (works once, for an hour):`, '', `    ${first.signInUrl}`, '']
      : ['  Sign in without mail:         npx posthaste sign-in']),
    ...(shownKey
      ? ['  Your API key, shown this once. Keep it:', '', `    ${shownKey}`, '']
      : first
        ? ['  Your API key is the one that BOOTSTRAP_API_KEY names.', '']
        : ['  Lost your key? Make another:  npx posthaste keys create --name laptop', '']),
    '  Try it:',
    '',
    `    curl -X POST ${config.API_URL}/lists -H "Authorization: Bearer ${shownKey ?? '$KEY'}" -H "Content-Type: application/json" -d '{"name":"My newsletter"}'`,
    '',
    '  Ctrl-C stops it.',
    '',
  ].join('\n')
}
