import { type Config, ConfigError, readConfig } from '../base/config.ts'
import { checkHttpsPort } from './doctor-certificates.ts'
import type { Check } from './doctor-check.ts'
import { checkDatabase } from './doctor-database.ts'
import { checkClock, checkDataFolder, checkNode } from './doctor-machine.ts'
import { checkDns, checkHttpPort, checkOutbound, checkReturnPath, checkSiteTarget, checkSmtpPort } from './doctor-network.ts'
import { checkMailSettings, checkSignUps } from './doctor-sending.ts'
import { readSetup } from './open.ts'

const marks = { good: '✓', warning: '!', bad: '✗' }

/** Every check runs, whatever the others find, and each says what to do next. Ends with 1 when one is bad. */
export async function doctor({ json }: { json: boolean }): Promise<void> {
  const checks: Check[] = []
  const report = (check: Check) => {
    checks.push(check)
    if (!json) console.log(lineOf(check))
  }
  report(checkNode())
  const config = readConfiguration(report)
  if (config) {
    const { log } = readSetup()
    report(checkDataFolder(config))
    const { checks: ofDatabase, skewMs } = await checkDatabase({ config, log })
    for (const check of ofDatabase) report(check)
    report(checkClock(skewMs))
    for (const check of [...checkMailSettings(config), checkSignUps(config)]) report(check)
    const ofTls = config.HTTPS_PORT === null ? [] : [checkHttpsPort]
    const ofNetwork = [checkHttpPort, ...ofTls, checkSmtpPort, checkDns, checkReturnPath, checkSiteTarget, checkOutbound]
    for (const check of ofNetwork) report(await check(config))
  }
  if (json) console.log(JSON.stringify(checks, null, 2))
  if (checks.some((check) => check.state === 'bad')) process.exitCode = 1
}

function readConfiguration(report: (check: Check) => void): Config | null {
  try {
    const config = readConfig(process.env)
    report({ name: 'configuration', state: 'good', seen: 'every value is valid' })
    return config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    report({ name: 'configuration', state: 'bad', seen: error.message, next: 'Correct it; the other checks need it.' })
    return null
  }
}

const lineOf = ({ name, state, seen, next }: Check): string =>
  `${marks[state]} ${name.padEnd(14)} ${seen}${next ? `\n${' '.repeat(17)}→ ${next}` : ''}`
