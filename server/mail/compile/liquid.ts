import {
  Liquid,
  type Context as LiquidContext,
  LiquidError,
  Context as LiquidScope,
  type Template as LiquidTemplate,
  type Token,
  toValueSync,
} from 'liquidjs'
import { escapeHtml, Html } from '../../base/html.ts'

/** Where a template stands in the post, named as the API names it. */
export type TemplateField = 'subject' | 'preview_text' | 'body_html' | 'body_text' | 'body_markdown'

/** A template that does not work, and where: what the author reads, so in words and not in a stack. */
export class TemplateError extends Error {
  readonly field: TemplateField
  /** Both count from 1. */
  readonly line: number
  readonly column: number
  /** The message without the place, for those who show the place themselves. */
  readonly problem: string

  constructor(field: TemplateField, place: { line: number; column: number }, problem: string) {
    super(`line ${place.line}, column ${place.column}: ${problem}`)
    this.name = 'TemplateError'
    this.field = field
    this.line = place.line
    this.column = place.column
    this.problem = problem
  }
}

/**
 * What one rendering for one recipient may cost at most. A post that needs more is a mistake, or somebody's attack. The time is wide: it is
 * that of the clock on the wall, and a busy machine must not fail a post that takes a third of a millisecond.
 */
const limits = { renderMs: 1_000, objects: 1_000_000, outputLetters: 4_000_000, sourceLetters: 2_000_000, tags: 5_000 }

export type Mode = 'html' | 'text'

const engines = { html: createEngine('html'), text: createEngine('text') }

function createEngine(mode: Mode): Liquid {
  const engine = new Liquid({
    strictFilters: true,
    ownPropertyOnly: true,
    templates: {},
    parseLimit: limits.sourceLetters * 2,
    renderLimit: limits.renderMs,
    memoryLimit: limits.objects,
    timezoneOffset: 'UTC',
    locale: 'en-US',
    outputEscape: mode === 'html' ? (value: unknown) => (value instanceof Html ? value.text : escapeHtml(asText(value))) : asText,
  })
  // They read other files, and a post has none.
  for (const name of ['include', 'render', 'layout', 'block']) delete engine.tags[name]
  if (mode === 'html') {
    // What is written out is escaped in any case; doing it twice would show "&amp;" to the reader.
    for (const name of ['escape', 'escape_once', 'xml_escape']) engine.registerFilter(name, asText)
    engine.registerFilter('newline_to_br', (value) => new Html(escapeHtml(asText(value)).replace(/\r\n|\r|\n/g, '<br>\n')))
  }
  return engine
}

/** How a value of any kind reads in a mail. Both ways of filling a post use this one, so that they cannot differ. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (value instanceof Html) return value.text
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  if (Array.isArray(value)) return value.map(asText).join('')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export type Scope = Record<string, unknown>

/** Reads a whole field as the author wrote it; throws a TemplateError for the first thing that is wrong. */
export function checkTemplate(field: TemplateField, source: string): void {
  if (source.length > limits.sourceLetters) {
    throw new TemplateError(field, { line: 1, column: 1 }, `is longer than ${limits.sourceLetters.toLocaleString('en')} letters`)
  }
  // liquidjs takes its tokens off the front of an array, which for very many of them takes minutes.
  if ((source.match(/\{[{%]/g)?.length ?? 0) > limits.tags) {
    throw new TemplateError(field, { line: 1, column: 1 }, `has more than ${limits.tags.toLocaleString('en')} merge tags`)
  }
  located(field, source, () => engines.text.parse(source))
}

export interface LiquidSource {
  field: TemplateField
  source: string
  mode: Mode
  /** What the author wrote and the source was made from: errors are told as places in it. */
  original: string
}

/** Liquid for posts that need logic: parsed once, run for each recipient. */
export function liquidTemplate({ field, source, mode, original }: LiquidSource): (scope: Scope) => string {
  const engine = engines[mode]
  const templates = located(field, original, () => engine.parse(source))
  return (scope) => located(field, original, () => render(engine, templates, scope))
}

function render(engine: Liquid, templates: LiquidTemplate[], scope: Scope): string {
  const context: LiquidContext = new LiquidScope(scope, engine.options, { sync: true })
  const output = new LimitedOutput()
  toValueSync(engine.renderer.renderTemplates(templates, context, output))
  return output.buffer
}

/** Loops are limited by time alone, in which they can write more than memory holds. */
class LimitedOutput {
  buffer = ''
  write(piece: unknown): void {
    const text = asText(piece)
    if (this.buffer.length + text.length > limits.outputLetters) throw new Error('output limit exceeded')
    this.buffer += text
  }
}

function located<Result>(field: TemplateField, original: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    const place = LiquidError.is(error) ? placeOf(error.token, original) : { line: 1, column: 1 }
    throw new TemplateError(field, place, inPlainWords((error as Error).message))
  }
}

/** In the author's text; a tag that has moved since (into a page, out of Markdown) is looked up by its words. */
function placeOf(token: Token, original: string): { line: number; column: number } {
  const begin = token.input === original ? token.begin : Math.max(original.indexOf(token.getText()), 0)
  const before = original.slice(0, begin)
  return { line: before.split('\n').length, column: begin - before.lastIndexOf('\n') }
}

/** What liquidjs says, and what we say. What stands in no row is shown as it came. */
const words: [said: RegExp, plain: string][] = [
  [/^undefined filter: (.+)$/, 'there is no filter "$1"'],
  [/^output "?([\s\S]*?)"? not closed$/, 'this "{{" has no "}}" after it'],
  [/^raw "?[\s\S]*?"? not closed$/, 'this {% raw %} has no {% endraw %}'],
  [/^tag "\{%[\s\S]*" not closed$/, 'this "{%" has no "%}" after it'],
  [/^tag \{%-?\s*(\w+)[\s\S]* not closed$/, 'this {% $1 %} has no {% end$1 %}'],
  [/^tag "(?:include|render|layout|block)" not found$/, 'a post cannot include other files'],
  [/^tag "(end\w+|else|elsif|when)" not found$/, 'this {% $1 %} belongs to no tag before it'],
  [/^tag "(.+)" not found$/, 'there is no tag "$1"'],
  [/^illegal tag: ([\s\S]+)$/, 'the tag $1 is not written as it should be'],
  [/^illegal tag syntax.*$/, 'this tag has no name'],
  [/^invalid value expression: ""$/, 'a name or a value is missing here'],
  [/^invalid value expression: (.+)$/, '$1 is neither a name nor a value'],
  [/^expected ":" after filter name$/, 'a filter’s value comes after a colon, as in default: "friend"'],
  [/^expected filter name$/, 'the name of a filter is missing after "|"'],
  [/^template render limit exceeded$/, 'takes too long to fill in for one reader; is there a loop in it that does not end?'],
  [/^memory alloc limit exceeded$/, 'makes too large a value; is there a loop in it that does not end?'],
  [/^(?:output limit exceeded|Invalid string length)$/, 'makes too long a text; is there a loop in it that does not end?'],
]

function inPlainWords(message: string): string {
  const said = message.replace(/, line:\d+, col:\d+[\s\S]*$/, '').replace(/\n[\s\S]*$/, '')
  for (const [pattern, plain] of words) if (pattern.test(said)) return said.replace(pattern, plain)
  return said
}
