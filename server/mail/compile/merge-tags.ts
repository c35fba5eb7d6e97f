import { Tokenizer, TokenKind, type TopLevelToken } from 'liquidjs'
import type { DeliveryPurpose } from '../../base/delivery-token.ts'

/**
 * A post is turned from Markdown to HTML, gets its CSS inlined and its links rewritten while the merge tags are still in it. Each tag is
 * set aside first, as a word that all those steps leave alone (`ph0n12z`), and put back at the end. So a quote in `default: "friend"`
 * cannot become `&quot;`, and the work on the template is done once, not once per reader.
 */
export interface SetAside {
  /** The source with a word in the place of each tag. */
  text: string
  tags: MergeTags
}

/** `{{ contact.city | default: "town" }}`: filled in without running Liquid. */
export interface Variable {
  path: string[]
  /** Null where the tag says nothing: then `false` reads "false", as in Liquid. */
  otherwise: string | null
}

export type Tag =
  | { kind: 'variable'; source: string; variable: Variable; isInBlock: boolean }
  | { kind: 'output'; source: string }
  /** The recipient's own token for one purpose, in links of ours. */
  | { kind: 'token'; source: string; purpose: DeliveryPurpose }
  | { kind: 'control'; source: string }
  /** What stood between {% raw %} and {% endraw %}: as it is, whatever it looks like. */
  | { kind: 'literal'; text: string }

export interface MergeTags {
  all: Tag[]
  /** Splits a text into what is fixed and the tags between; both may have moved, or be there more than once. */
  split(text: string): (string | Tag)[]
  /** The words of those tags that steer (`{% if %}`): they must come out of every step once each, in order. */
  controls: ReadonlySet<string>
  /** One more tag, of ours; answers its word. */
  add(tag: string | Tag): string
}

export function setAsideTags(source: string): SetAside {
  const mark = unusedMark(source)
  const word = (index: number): string => `ph${mark}n${index}z`
  const tags: Tag[] = []
  let text = ''
  for (const tag of readTags(source)) {
    if (typeof tag === 'string') text += tag
    else text += word(tags.push(tag) - 1)
  }
  // An empty value is what an HTML parser gives to an attribute that has none: `<td {% if … %}class="…"{% endif %}>`.
  const pattern = new RegExp(`ph${mark}n(\\d+)z(?:="")?`)
  return {
    text,
    tags: {
      all: tags,
      add: (tag) => word(tags.push(typeof tag === 'string' ? outputTag(tag, false) : tag) - 1),
      controls: new Set(tags.flatMap((tag, index) => (tag.kind === 'control' ? [word(index)] : []))),
      split: (filled) => filled.split(pattern).map((piece, index) => (index % 2 === 0 ? piece : (tags[Number(piece)] as Tag))),
    },
  }
}

/** The first number that no word of ours in the source has already: in one pass, as a source may be made of nothing else. */
function unusedMark(source: string): number {
  const used = new Set(source.match(/ph\d+n/g))
  let mark = 0
  while (used.has(`ph${mark}n`)) mark++
  return mark
}

function* readTags(source: string): Generator<string | Tag> {
  let depth = 0
  let isRaw = false
  for (const token of new Tokenizer(source).readTopLevelTokens()) {
    const text = token.getText()
    const name = tagName(token)
    if (name === 'raw') isRaw = true
    else if (name === 'endraw') isRaw = false
    else if (isRaw) yield { kind: 'literal', text }
    else if (token.kind === TokenKind.HTML) yield text
    else if (name === null) yield outputTag(text, depth > 0)
    else {
      if (blocks.has(name)) depth++
      if (name.startsWith('end')) depth--
      yield { kind: 'control', source: text }
    }
  }
}

const blocks = new Set(['if', 'unless', 'for', 'case', 'capture', 'tablerow', 'comment'])

const tagName = (token: TopLevelToken): string | null =>
  token.kind === TokenKind.Tag ? (token as TopLevelToken & { name: string }).name : null

const plain = /^\{\{\s*([a-z_][\w-]*(?:\.[a-z_][\w-]*)*)\s*(?:\|\s*default:\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*)?\}\}$/i
/** Words of the language, and properties that Liquid makes up itself. */
const notVariables = /^(?:true|false|nil|null|empty|blank)$|\.(?:size|first|last)(?:\.|$)/

function outputTag(source: string, isInBlock: boolean): Tag {
  const match = plain.exec(source)
  if (!match?.[1] || notVariables.test(match[1])) return { kind: 'output', source }
  return { kind: 'variable', source, isInBlock, variable: { path: match[1].split('.'), otherwise: match[2] ?? match[3] ?? null } }
}

/** Fixed text among Liquid: an opening brace that came out of an entity must not begin a tag. */
export const liquidSource = (pieces: (string | Tag)[]): string =>
  pieces
    .map((piece) => (typeof piece === 'string' ? literal(piece) : piece.kind === 'literal' ? literal(piece.text) : piece.source))
    .join('')

const literal = (text: string): string => text.replace(/\{(?=[{%])/g, '{{ "{" | raw }}')
