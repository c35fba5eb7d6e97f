/**
 * SQL in tagged templates. Values become parameters; a nested `sql` becomes part of the text. The text of a statement without
 * nested parts is made once per place in the code, and its hash names the prepared statement.
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

const flat = new WeakMap<TemplateStringsArray, { name: string; text: string }>()
const names = new Map<string, string>()

export function toStatement(strings: TemplateStringsArray, values: unknown[]): Statement {
  if (values.some((value) => value instanceof Fragment)) {
    const flattened: unknown[] = []
    const text = append('', strings, values, flattened)
    return { name: nameOf(text), text, values: flattened }
  }
  let known = flat.get(strings)
  if (!known) {
    const text = append('', strings, values, [])
    known = { name: nameOf(text), text }
    flat.set(strings, known)
  }
  return { ...known, values }
}

function append(text: string, strings: TemplateStringsArray, values: unknown[], into: unknown[]): string {
  let result = text + strings[0]
  values.forEach((value, index) => {
    if (value instanceof Fragment) {
      result = append(result, value.strings, value.values, into)
    } else {
      into.push(value)
      result += `$${into.length}`
    }
    result += strings[index + 1]
  })
  return result
}

function nameOf(text: string): string {
  let name = names.get(text)
  if (!name) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 22)
    names.set(text, name)
  }
  return name
}
