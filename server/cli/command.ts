import { parseArgs } from 'node:util'
import { UsageError } from './usage.ts'

/** `--list LIST` takes a value, `--force` takes none. */
interface Option {
  type: 'string' | 'boolean'
  /** The word that stands for the value in the help. */
  value?: string
  required?: true
  about: string
}
type Options = Record<string, Option>

type Values<Given extends Options> = {
  [Name in keyof Given]: Given[Name] extends { type: 'boolean' }
    ? boolean
    : Given[Name] extends { required: true }
      ? string
      : string | undefined
}

interface Shape<Operand extends string, Given extends Options> {
  about: string
  /** What stands on the line besides options, all of it required: `FILE`. */
  operands: readonly Operand[]
  options: Given
  /** Where it is read of beyond its help. */
  more?: string
  /** Loaded when it is called, so that the help does not wait for the whole program. */
  load(): Promise<(input: Values<Given> & Record<Lowercase<Operand>, string>) => Promise<void>>
}

export interface Command {
  about: string
  operands: readonly string[]
  options: Options
  more?: string
  load(): Promise<(input: never) => Promise<void>>
}

/** A command's contract, from which its parsing, its help and the types of what it gets are made. */
export const command = <const Operand extends string, const Given extends Options>(shape: Shape<Operand, Given>): Command => shape

export async function runCommand(name: string, given: Command, args: string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) return console.log(helpOf(name, given))
  const input = parse(name, given, args)
  const run = await given.load()
  // The types were held against each other where the command was declared.
  await run(input as never)
}

function parse(name: string, { operands, options }: Command, args: string[]): Record<string, string | boolean | undefined> {
  const refuse = (problem: string) => new UsageError(`${problem}\nUsage: ${usageOf(name, { operands, options })}`)
  const { values, positionals } = readArgs(options, args, refuse)
  const missing = operands[positionals.length]
  if (missing) throw refuse(`${missing} is missing.`)
  if (positionals.length > operands.length) throw refuse(`"${positionals[operands.length]}" is more than this command takes.`)
  for (const [option, { required }] of Object.entries(options)) if (required && !values[option]) throw refuse(`--${option} is missing.`)
  return { ...values, ...Object.fromEntries(operands.map((operand, index) => [operand.toLowerCase(), positionals[index] as string])) }
}

interface Parsed {
  values: Record<string, string | boolean | undefined>
  positionals: string[]
}

function readArgs(options: Options, args: string[], refuse: (problem: string) => UsageError): Parsed {
  const known = Object.fromEntries(
    Object.entries(options).map(([name, { type }]) => [name, type === 'boolean' ? { type, default: false } : { type }]),
  )
  try {
    return parseArgs({ args, options: known, allowPositionals: true }) as Parsed
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error
    const option = /'(-[^\s',]+)/.exec(message)?.[1] ?? ''
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw refuse(`There is no option ${option}.`)
    // What is left: a value where none belongs, or none where one does.
    throw refuse(options[option.slice(2)]?.type === 'boolean' ? `${option} takes no value.` : `${option} needs a value.`)
  }
}

const written = (name: string, { value }: Option): string => (value ? `--${name} ${value}` : `--${name}`)

function usageOf(name: string, { operands, options }: Pick<Command, 'operands' | 'options'>): string {
  const asked = Object.entries(options).map(([option, shape]) => (shape.required ? written(option, shape) : `[${written(option, shape)}]`))
  return ['posthaste', name, ...operands, ...asked].join(' ')
}

function helpOf(name: string, given: Command): string {
  const options = Object.entries(given.options).map(([option, shape]): [string, string] => [written(option, shape), shape.about])
  return [
    `Usage: ${usageOf(name, given)}`,
    '',
    `${given.about}.`,
    ...(given.more ? [given.more] : []),
    ...(options.length > 0 ? ['', columns(options)] : []),
  ].join('\n')
}

/** Two columns: what is written, and what it is for. */
export function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 3
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n')
}
