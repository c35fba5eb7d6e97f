/**
 * SQL in tagged templates. Values become parameters; a nested `sql` becomes part of the text. The text of a statement is made once for
 * each way in which templates nest, and its hash names the prepared statement.
 */
import { createHash } from 'node:crypto'

export class Fragment {
  readonly strings: TemplateStringsArray
  readonly values: unknown[]
  constructor(strings: TemplateStringsArray, values: unknown[]) {
    this.strings = strings
    this.values = values
  }
}

/** A piece of SQL to nest in another. */
export const sql = (strings: TemplateStringsArray, ...values: unknown[]): Fragment => new Fragment(strings, values)

/** A piece that adds nothing, for a condition that does not apply. */
export const nothing = sql``

export interface Statement {
  name: string
  text: string
  values: unknown[]
}

/**
 * What is known of a statement, found by the templates that it is made of, in their order: a long text, put together and looked up
 * each time, was an eighth of what single mails left behind. `null` stands for a value; a template says how many follow it.
 */
interface Known {
  next: Map<TemplateStringsArray | null, Known>
  statement: { name: string; text: string } | null
}
const newKnown = (): Known => ({ next: new Map(), statement: null })
const all = newKnown()

function stepFrom({ next }: Known, template: TemplateStringsArray | null): Known {
  const there = next.get(template)
  if (there) return there
  const made = newKnown()
  next.set(template, made)
  return made
}

export function toStatement(strings: TemplateStringsArray, values: unknown[]): Statement {
  const flattened: unknown[] = []
  const last = follow(stepFrom(all, strings), values, flattened)
  if (!last.statement) {
    const text = textOf('', strings, values, { count: 0 })
    last.statement = { name: createHash('sha256').update(text).digest('base64url').slice(0, 22), text }
  }
  return { ...last.statement, values: flattened }
}

function follow(from: Known, values: unknown[], into: unknown[]): Known {
  let here = from
  for (const value of values) {
    if (value instanceof Fragment) here = follow(stepFrom(here, value.strings), value.values, into)
    else {
      into.push(value)
      here = stepFrom(here, null)
    }
  }
  return here
}

function textOf(before: string, strings: TemplateStringsArray, values: unknown[], parameters: { count: number }): string {
  let text = before + strings[0]
  values.forEach((value, index) => {
    text = value instanceof Fragment ? textOf(text, value.strings, value.values, parameters) : `${text}$${++parameters.count}`
    text += strings[index + 1]
  })
  return text
}
