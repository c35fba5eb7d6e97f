import { readConfig } from '../base/config.ts'
import { createLog } from '../base/log.ts'
import { type Posthaste, startPosthaste } from '../main.ts'

/** Runs until it is told to stop: once politely, a second time at once. */
export async function start(): Promise<void> {
  const began = performance.now()
  const config = readConfig(process.env)
  const posthaste = await startPosthaste({ config, log: createLog(config.LOG_LEVEL) })
  let stopping = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, async () => {
      if (stopping) process.exit(1)
      stopping = true
      console.log('\nStopping: finishing what is under way …')
      await posthaste.stop()
      process.exit(0)
    })
  }
  console.log(welcome(posthaste, Math.round(performance.now() - began)))
}

function welcome({ services: { config }, place, firstKey, http }: Posthaste, ms: number): string {
  if (!http) return `Posthaste is running (${config.ROLES.join(', ')}), started in ${ms} ms. Data: ${place}`
  const key = firstKey ?? 'YOUR_KEY'
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
    ...(firstKey
      ? ['  Your API key, shown this once. Keep it:', '', `    ${firstKey}`, '']
      : ['  Lost your key? Make another:  npx posthaste keys create --name laptop', '']),
    '  Try it:',
    '',
    `    curl -X POST ${config.API_URL}/lists -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" -d '{"name":"My newsletter"}'`,
    '',
    '  Ctrl-C stops it.',
    '',
  ].join('\n')
}
