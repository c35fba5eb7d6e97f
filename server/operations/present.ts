import type { z } from 'zod'

/**
 * Turns what the program holds into what goes on the wire, by the schema: ids get their prefix, dates become text, and only
 * declared fields are copied, so that an undeclared one cannot leak. Compiled once per schema; `z.encode` would validate our own
 * data again on every answer.
 */
export type Present = (value: unknown) => unknown

const compiled = new WeakMap<z.ZodType, Present>()

export function presenterOf(schema: z.ZodType): Present {
  let present = compiled.get(schema)
  if (!present) {
    present = compile(schema)
    compiled.set(schema, present)
  }
  return present
}

const asIs: Present = (value) => value

interface Definition {
  type: string
  shape?: Record<string, z.ZodType>
  element?: z.ZodType
  innerType?: z.ZodType
  valueType?: z.ZodType
  reverseTransform?: (value: unknown, context: unknown) => unknown
}

function compile(schema: z.ZodType): Present {
  const definition = schema._zod.def as unknown as Definition
  switch (definition.type) {
    case 'object':
      return presentObject(definition.shape as Record<string, z.ZodType>)
    case 'array': {
      const item = presenterOf(definition.element as z.ZodType)
      return (value) => (value as unknown[]).map(item)
    }
    case 'nullable':
    case 'optional': {
      const inner = presenterOf(definition.innerType as z.ZodType)
      return (value) => (value === null || value === undefined ? value : inner(value))
    }
    case 'pipe': {
      const encode = definition.reverseTransform
      if (!encode) throw new Error('Only codecs can be presented: a transform has no way back to the wire.')
      return (value) => encode(value, { issues: [] })
    }
    case 'string':
    case 'number':
    case 'boolean':
    case 'enum':
    case 'literal':
    case 'record':
    case 'unknown':
      return asIs
    default:
      throw new Error(`A result schema cannot hold ${definition.type}: teach present.ts what it looks like on the wire.`)
  }
}

function presentObject(shape: Record<string, z.ZodType>): Present {
  const fields = Object.entries(shape).map(([name, schema]) => [name, presenterOf(schema)] as const)
  return (value) => {
    const wire: Record<string, unknown> = {}
    for (const [name, present] of fields) {
      const field = (value as Record<string, unknown>)[name]
      if (field !== undefined) wire[name] = field === null ? null : present(field)
    }
    return wire
  }
}
