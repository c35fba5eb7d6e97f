import { ConfigError } from '../base/config.ts'
import { UsageError } from './usage.ts'

const commands: Record<string, { about: string; load: () => Promise<(args: string[]) => Promise<void>> }> = {
  start: { about: 'Run Posthaste', load: async () => (await import('./start.ts')).start },
}

/** `posthaste COMMAND …`. What a person can mend is said in a line or two; anything else is a bug, and shows its trace. */
export async function runCli([name = 'help', ...args]: string[]): Promise<void> {
  const command = commands[name]
  try {
    if (command) await (await command.load())(args)
    else help(name)
  } catch (error) {
    if (error instanceof ConfigError || error instanceof UsageError) console.error(error.message)
    else console.error(error)
    process.exitCode = 1
  }
}

function help(name: string): void {
  const lines = Object.entries(commands).map(([command, { about }]) => `  ${command.padEnd(10)}${about}`)
  const text = ['Usage: posthaste COMMAND [options]', '', ...lines].join('\n')
  if (['help', '--help', '-h'].includes(name)) return console.log(text)
  throw new UsageError(`There is no command "${name}".\n\n${text}`)
}
