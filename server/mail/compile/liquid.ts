import { Liquid, Context as LiquidContext, LiquidError, type Template as LiquidTemplate, type Token, toValueSync } from 'liquidjs'
import { escapeHtml, Html } from '../../base/html.ts'
import { threadMs } from '../../base/thread-time.ts'
import { TemplateError, type TemplateField } from './template-error.ts'

/**
 * What one rendering for one recipient may cost at most: a post that needs more is a mistake, or somebody's attack, and everybody's mail waits
 * for it. Steps (a tag, an output, a turn of a loop) and letters are counted, so that what is refused does not depend on how busy the machine
 * is; together they keep it to some tens of milliseconds. Processor time is there for what costs more than one would think, as long
 * conditions and dates do.
 */
const limits = { steps: 10_000, valueLetters: 200_000, outputLetters: 500_000, renderMs: 100, sourceLetters: 2_000_000, tags: 5_000 }

export type Mode = 'html' | 'text'

const engines = { html: createEngine('html'), text: createEngine('text') }

function createEngine(mode: Mode): Liquid {
  const engine = new Liquid({
    strictFilters: true,
    ownPropertyOnly: true,
    templates: {},
    parseLimit: limits.sourceLetters * 2,
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
  // What {% capture %} gathers is counted like what is written.
  const { renderer } = engine
  const renderTemplates = renderer.renderTemplates.bind(renderer)
  renderer.renderTemplates = (templates, context, output = new LimitedOutput(budgetOf(context))) =>
    renderTemplates(templates, context, output)
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
  const budget = new Budget()
  const context = new LiquidContext(
    scope,
    engine.options,
    { sync: true },
    { memoryLimit: asLimiter(budget), renderLimit: asLimiter(budget) },
  )
  const output = new LimitedOutput(budget)
  toValueSync(engine.renderer.renderTemplates(templates, context, output))
  return output.buffer
}

type Limiter = LiquidContext['memoryLimit']

/** What is left of the limits for one rendering. liquidjs asks it at every step, and before it makes a value. */
class Budget {
  #steps = 0
  #valueLetters = 0
  #outputLetters = 0
  readonly #began = threadMs()
  #lookAt = performance.now() + limits.renderMs

  check(now: number): void {
    if (++this.#steps > limits.steps) throw new Error('template render limit exceeded')
    this.#lookAtTime(now)
  }

  /** The clock is cheap to ask and counts what others did meanwhile; what this thread has used is asked when the clock says so. */
  #lookAtTime(now: number): void {
    if (now <= this.#lookAt) return
    const left = limits.renderMs - (threadMs() - this.#began)
    if (left <= 0) throw new Error('template render limit exceeded')
    this.#lookAt = now + left
  }

  use(letters: number): void {
    if (!(letters > 0)) return
    this.#valueLetters += letters
    if (this.#valueLetters > limits.valueLetters) throw new Error('memory alloc limit exceeded')
    this.#lookAtTime(performance.now())
  }

  write(letters: number): void {
    this.#outputLetters += letters
    if (this.#outputLetters > limits.outputLetters) throw new Error('output limit exceeded')
  }
}

/** liquidjs has the two kinds of limits apart, with private fields; both are asked by these methods alone. */
const asLimiter = (budget: Budget): Limiter => budget as unknown as Limiter
const budgetOf = (context: LiquidContext): Budget => context.memoryLimit as unknown as Budget

class LimitedOutput {
  readonly #budget: Budget
  buffer = ''

  constructor(budget: Budget) {
    this.#budget = budget
  }

  write(piece: unknown): void {
    const text = asText(piece)
    this.#budget.write(text.length)
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
