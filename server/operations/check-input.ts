import type { z } from 'zod'
import { ApiError } from '../base/errors.ts'

/** Parses one part of a request; a problem becomes the contract's 422, naming each field and what is wrong with it. */
export function checkInput<Schema extends z.ZodType>(schema: Schema, value: unknown, part: 'body' | 'query' | 'path'): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => ({ field: fieldName(issue.path, part), problem: problemOf(issue) }))
  const shown = problems.slice(0, 5).map(({ field, problem }) => `${field}: ${problem}`)
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`)
  throw new ApiError('validation_error', shown.join('; '), { field: problems[0]?.field ?? part })
}

const fieldName = (path: PropertyKey[], part: string): string =>
  path.length === 0
    ? part
    : path.map((key, index) => (typeof key === 'number' ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`)).join('')

const articles: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  int: 'a whole number',
}

function problemOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined && /received undefined/.test(issue.message)) return 'is required'
    if (issue.message.startsWith('Invalid input')) return `must be ${articles[issue.expected] ?? issue.expected}`
  }
  if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid'))
    return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`
  if (issue.code === 'too_big' && issue.message.startsWith('Too big'))
    return `must be at most ${issue.maximum}${issue.origin === 'array' ? ' items' : ''}`
  if (issue.code === 'too_small' && issue.message.startsWith('Too small')) {
    if (issue.origin === 'string') return 'must not be empty'
    return `must be at least ${issue.minimum}${issue.origin === 'array' ? ' items' : ''}`
  }
  if (issue.code === 'invalid_format' && issue.message.startsWith('Invalid string')) return 'does not have the form it should'
  return issue.message
}

const unstorable = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/**
 * PostgreSQL stores neither NUL nor half of a surrogate pair, and a driver error is no answer to a typing mistake: say where it is.
 * Walks the whole value, so callers first look whether the raw text can hold one at all.
 */
export function refuseUnstorable(value: unknown, path: string, depth = 0): void {
  // Nothing we take is nested so deep, and the walk would end in a stack overflow.
  if (depth > 200) throw new ApiError('validation_error', `${path.slice(0, 100)}…: is nested too deep`, { field: path.slice(0, 100) })
  if (typeof value === 'string') {
    if (unstorable.test(value))
      throw new ApiError('validation_error', `${path}: holds a NUL or a broken Unicode character, which cannot be stored`, { field: path })
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => {
      refuseUnstorable(item, `${path}[${index}]`, depth + 1)
    })
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const name = path === '' ? key : `${path}.${key}`
      refuseUnstorable(key, path === '' ? 'body' : path)
      refuseUnstorable(item, name, depth + 1)
    }
  }
}
