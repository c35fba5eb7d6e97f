import { TemplateError, type TemplateField } from './template-error.ts'

/**
 * What no person writes and what costs more than its length: elements, quotes or lists inside of each other hundreds of times, thousands of
 * marks in one paragraph. Refused with its place when a post is saved, so that its author need not wait for the compiler to give up. Each
 * of these looks at the text once.
 */
export function refuseOddShapes(field: TemplateField, text: string): void {
  if (field === 'body_html' || field === 'body_markdown') refuseDeepElements(field, text)
  if (field !== 'body_markdown') return
  refuseFirst(field, text, deepQuote, 'quotes are nested more than 100 deep here')
  refuseFirst(field, text, deepList, 'a list is nested more than 100 deep here')
  refuseManyMarks(field, text)
}

const maxDepth = 500
/** Those that end by themselves: left open again and again, they are not inside of each other. */
const endThemselves = new Set(
  'area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot option optgroup colgroup rp rt'.split(
    ' ',
  ),
)

/** Of other programs' elements (`<v:fill />`) nothing is known. */
const commentOrTag = /<!--[\s\S]*?(?:-->|$)|<(\/?)([a-z][a-z\d]*)(?![\w:-])([^<>]*)/gi

function refuseDeepElements(field: TemplateField, html: string): void {
  let depth = 0
  for (const tag of html.matchAll(commentOrTag)) {
    const [, slash, name = '', rest = ''] = tag
    if (name === '' || endThemselves.has(name.toLowerCase()) || rest.endsWith('/')) continue
    depth = slash === '/' ? Math.max(depth - 1, 0) : depth + 1
    if (depth > maxDepth) throw errorAt(field, html, tag.index, `elements are nested more than ${maxDepth} deep here, or are not closed`)
  }
}

const deepQuote = /^[ \t]*(?:>[ \t]*){101}/m
const deepList = /^[ \t]{200,}(?:[-+*]|\d{1,9}[.)])[ \t]/m

function refuseFirst(field: TemplateField, text: string, shape: RegExp, problem: string): void {
  const found = shape.exec(text)
  if (found) throw errorAt(field, text, found.index, problem)
}

const maxMarks = 3_000

/** The time that Markdown's emphasis takes grows with the square of its marks, and faster. */
function refuseManyMarks(field: TemplateField, text: string): void {
  let count = 0
  for (const found of text.matchAll(/[*_~]+|\n[ \t]*(?=\r?\n)/g)) {
    count = found[0].startsWith('\n') ? 0 : count + 1
    if (count > maxMarks)
      throw errorAt(field, text, found.index, `has more than ${maxMarks.toLocaleString('en')} marks (* _ ~) in one paragraph`)
  }
}

function errorAt(field: TemplateField, text: string, index: number, problem: string): TemplateError {
  const before = text.slice(0, index)
  return new TemplateError(field, { line: before.split('\n').length, column: index - before.lastIndexOf('\n') }, problem)
}
