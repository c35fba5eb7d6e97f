import type { Json } from './openapi-schema.ts'

/** The letters of a TypeID, for examples: any id, and always the same. */
const idLetters = '01kb0zq3nhe5etqg8m1x5c7vwa'

/** What stands in fields of these names, in place of just some text. */
const wordsOf: Record<string, string> = {
  subject: 'Hello',
  name: 'Ann',
  from_name: 'Ann',
  email: 'ann@example.org',
  address: 'ann@example.org',
  from: 'news@example.com',
  from_address: 'ann@example.org',
  to: 'ann@example.org',
  to_address: 'news@example.com',
  url: 'https://example.org/offer',
  message_id: '01kb0zq3nhe5etqg8m1x5c7vwa@example.com',
  provider_message_id: '01kb0zq3nhe5etqg8m1x5c7vwa@example.com',
  text_body: 'Hello!',
  html_body: '<p>Hello!</p>',
  filename: 'invoice.pdf',
  content_type: 'application/pdf',
  title: 'Breakfast',
  timezone: 'Europe/Berlin',
  enhanced_code: '5.1.1',
  reason: 'No such user here',
  slug: 'weekly',
}

/** A value that fits a JSON schema. */
export function exampleOf(schema: Json, components: Json, field = ''): unknown {
  const of = (inner: unknown, name = field) => exampleOf(inner as Json, components, name)
  if (typeof schema.$ref === 'string') return of(components[schema.$ref.split('/').at(-1) as string])
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  // What has not happened yet has no time.
  if (Array.isArray(schema.anyOf)) return isTimeOrNone(schema.anyOf) ? null : of(schema.anyOf[0])
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(Object.entries((schema.properties ?? {}) as Json).map(([name, inner]) => [name, of(inner, name)]))
    case 'array':
      return ['tags', 'attendees', 'attachments'].includes(field) ? [of(schema.items)] : []
    case 'integer':
    case 'number':
      return field === 'smtp_code' ? 550 : Math.max(1, Number(schema.minimum ?? 1))
    case 'boolean':
      return false
    case 'string':
      return textFor(schema, field)
    default:
      return null
  }
}

const isTimeOrNone = ([first, second]: Json[]): boolean => first?.format === 'date-time' && second?.type === 'null'

function textFor({ format, pattern }: Json, field: string): string {
  const prefix = typeof pattern === 'string' ? /^\^([a-z]+)_/.exec(pattern)?.[1] : undefined
  if (prefix) return `${prefix}_${idLetters}`
  if (format === 'date-time') return '2026-11-15T09:00:00.000Z'
  if (format === 'email') return 'ann@example.org'
  return wordsOf[field] ?? (field.endsWith('_url') ? 'https://example.com/' : 'text')
}
