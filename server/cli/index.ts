import { ApiError, OperatorError } from '../base/errors.ts'
import { type Command, columns, command, runCommand } from './command.ts'
import { UsageError } from './usage.ts'

/** Every command: what it takes, what it is for, and where its work is done. The help is made from this. */
const commands: Record<string, Command> = {
  start: command({ about: 'Run Posthaste', operands: [], options: {}, load: async () => (await import('./start.ts')).start }),
  migrate: command({
    about: 'Bring the database up to this release, without starting',
    operands: [],
    options: {},
    load: async () => (await import('./migrate.ts')).migrateDatabase,
  }),
  'keys create': command({
    about: 'Make an API key and show it, this once',
    operands: [],
    options: {
      name: { type: 'string', value: 'NAME', about: 'What it is for (default: command line)' },
      scope: { type: 'string', value: 'SCOPES', about: 'Of read,write,send,admin (default: all four)' },
      project: { type: 'string', value: 'SLUG', about: 'The project it belongs to (default: the owner’s)' },
      mailbox: { type: 'string', value: 'ADDRESS', about: 'Binds it to one mailbox' },
      expires: { type: 'string', value: 'DATE', about: 'When it stops working: 2027-01-31, or with a time, 2027-01-31T09:00:00Z' },
    },
    load: async () => (await import('./keys-create.ts')).createKey,
  }),
  'keys list': command({
    about: 'Show a project’s API keys, newest first',
    operands: [],
    options: { project: { type: 'string', value: 'SLUG', about: 'Whose keys (default: the owner’s project)' } },
    load: async () => (await import('./keys-list.ts')).listKeys,
  }),
  'keys revoke': command({
    about: 'Make an API key stop working',
    operands: ['ID'],
    options: { project: { type: 'string', value: 'SLUG', about: 'Whose key (default: the owner’s project)' } },
    load: async () => (await import('./keys-revoke.ts')).revokeKey,
  }),
  'projects list': command({
    about: 'Show all projects with their plans, newest first',
    operands: [],
    options: {},
    load: async () => (await import('./projects-list.ts')).listAllProjects,
  }),
  'projects plan': command({
    about: 'Put a project on a plan, without a subscription',
    operands: ['SLUG', 'PLAN'],
    more: 'PLAN is one of those that the setting PLANS names, or unlimited. It counts at once, for what was sent this month, too.',
    options: {},
    load: async () => (await import('./projects-plan.ts')).setProjectPlan,
  }),
  'sign-in': command({
    about: 'Print a link that signs somebody in once, without mail',
    operands: [],
    options: { email: { type: 'string', value: 'ADDRESS', about: 'Whom (default: the owner of this installation)' } },
    load: async () => (await import('./sign-in.ts')).printSignInLink,
  }),
  dkim: command({
    about: 'Show the DNS records that mail of MAIL_DOMAIN is signed by; makes the keys when there are none',
    operands: [],
    more: 'The first start that sends mail makes a key, too, but where Amazon SES signs.',
    options: {
      ed25519: { type: 'boolean', about: 'Also a second, newer kind of key' },
      rotate: { type: 'boolean', about: 'Makes new keys in place of those in use; leave the old records in DNS for a week' },
    },
    load: async () => (await import('./dkim.ts')).showDkim,
  }),
  'move-addresses': command({
    about: 'Give lists and mailboxes at an earlier domain addresses at MAIL_DOMAIN',
    operands: ['FROM'],
    more: 'FROM is the domain that was MAIL_DOMAIN when they were made, such as posthaste.test. Mail for the old addresses is refused from then on.',
    options: {},
    load: async () => (await import('./move-addresses.ts')).moveToMailDomain,
  }),
  import: command({
    about: 'Add people who have agreed to be on a list, from a CSV file',
    operands: ['FILE'],
    more: 'FILE is a path, or - for standard input. Sent again, a file that was cut off goes on where it stopped.',
    options: {
      list: { type: 'string', value: 'LIST', required: true, about: 'The list’s id or subdomain' },
      errors: { type: 'string', value: 'FILE', about: 'Writes the lines that were left out, and why, as CSV' },
    },
    load: async () => (await import('./import.ts')).importSubscribers,
  }),
  export: command({
    about: 'Write a list’s subscribers as CSV',
    operands: [],
    options: {
      list: { type: 'string', value: 'LIST', required: true, about: 'The list’s id or subdomain' },
      out: { type: 'string', value: 'FILE', about: 'Where to (default: standard output)' },
    },
    load: async () => (await import('./export.ts')).exportSubscribers,
  }),
  doctor: command({
    about: 'Look for what keeps Posthaste from working',
    operands: [],
    options: { json: { type: 'boolean', about: 'For programs to read' } },
    load: async () => (await import('./doctor.ts')).doctor,
  }),
  backup: command({
    about: 'Write a consistent copy of the database into one file, also while Posthaste runs',
    operands: ['FILE'],
    more: 'FILE is a path, or - for standard output. It may hold the secret key: keep it as safe as the data folder.',
    options: {},
    load: async () => (await import('./backup.ts')).backup,
  }),
  restore: command({
    about: 'Load such a file into an empty database',
    operands: ['FILE'],
    more: 'FILE is a path, or - for standard input. It is checked whole before anything is changed.',
    options: {
      check: { type: 'boolean', about: 'Only checks the file, and tells what is in it' },
      force: { type: 'boolean', about: 'Removes what the database holds first' },
      'secret-key': { type: 'boolean', about: 'Only puts the secret key of the file back into DATA_DIR, when that was lost' },
    },
    load: async () => (await import('./restore.ts')).restore,
  }),
}

/** `posthaste COMMAND …`. What a person can mend is said in a line or two; anything else is a bug, and shows its trace. */
export async function runCli(args: string[]): Promise<void> {
  try {
    const [name, rest] = nameIn(args)
    const found = find(name)
    if (found) await runCommand(name, found, rest)
    else help(name, rest)
  } catch (error) {
    // Whoever read our output has seen enough, as `head` does.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return
    const isForPeople = error instanceof OperatorError || error instanceof ApiError
    console.error(isForPeople ? error.message : error)
    process.exitCode = 1
  }
}

const find = (name: string): Command | undefined => (Object.hasOwn(commands, name) ? commands[name] : undefined)

/** `keys create …` is a command of two words, and `help COMMAND` is `COMMAND --help`. */
function nameIn([first = 'help', ...rest]: string[]): [string, string[]] {
  if (first === 'help' && rest.length > 0) return nameIn([...rest, '--help'])
  const both = `${first} ${rest[0]}`
  return find(both) ? [both, rest.slice(1)] : [first, rest]
}

function help(name: string, rest: string[]): void {
  const isForAll = ['help', '--help', '-h'].includes(name)
  const group = Object.entries(commands).filter(([known]) => known.startsWith(`${name} `))
  const shown = group.length > 0 ? group : Object.entries(commands)
  const rows = shown.map(([known, { about }]): [string, string] => [known, about])
  const text = ['Usage: posthaste COMMAND [options]', '', columns(rows), '', 'posthaste COMMAND --help tells more of one.'].join('\n')
  const isAsked = isForAll || (group.length > 0 && rest.includes('--help'))
  if (!isAsked) throw new UsageError(group.length > 0 ? text : `There is no command "${name}".\n\n${text}`)
  console.log(text)
}
