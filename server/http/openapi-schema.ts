import { z } from 'zod'

export type Json = Record<string, unknown>

/** The schema as it is on the wire. Schemas with an id of their own become components, said once. */
export function toJsonSchema(schema: z.ZodType, components: Json): Json {
  const made = z.toJSONSchema(z.object({ it: schema }), { io: 'input', unrepresentable: 'any' })
  const text = JSON.stringify(made).replaceAll('#/$defs/', '#/components/schemas/')
  const { properties, $defs = {} } = JSON.parse(text) as { properties: { it: Json }; $defs?: Json }
  for (const [name, definition] of Object.entries($defs)) {
    const { id: _id, ...rest } = definition as Json
    components[name] = rest
  }
  return properties.it
}
