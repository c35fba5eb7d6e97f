import { setAsideTags } from './merge-tags.ts'
import { blanks } from './page-text.ts'

/**
 * A subject as somebody reads it of whom nothing is known, where the engine cannot be asked: tags with another value for nobody say that, all
 * others say nothing, and neither does what stands under a condition, which may be meant for some alone. Takes time with the length of
 * the text alone.
 */
export function plainLine(text: string, { list_name }: { list_name: string }): string {
  if (!hasTags(text)) return text.trim()
  const { text: set, tags } = setAsideTags(text)
  let depth = 0
  const said = tags.split(set).map((piece) => {
    if (typeof piece !== 'string' && piece.kind === 'control') depth += stepOf(piece.source)
    if (depth > 0) return ''
    if (typeof piece === 'string') return piece
    if (piece.kind === 'literal') return piece.text
    if (piece.kind !== 'variable') return ''
    return piece.variable.path[0] === 'list_name' ? list_name : (piece.variable.otherwise ?? '')
  })
  return tidyLine(said.join(''))
}

const stepOf = (tag: string): number => {
  const [, name = ''] = /^\{%-?\s*(\w+)/.exec(tag) ?? []
  if (name.startsWith('end')) return -1
  return /^(?:if|unless|for|case|capture|tablerow|comment)$/.test(name) ? 1 : 0
}

export const hasTags = (text: string): boolean => /\{[{%]/.test(text)

/** A line whose tags have been filled in for nobody: no comma is left behind by a name that is missing. */
export function tidyLine(said: string): string {
  const line = said
    .replace(blanks, ' ')
    .replace(/ ([,.!?;:])/g, '$1')
    .replace(/^[\s,.;:!?–—-]+/, '')
    .trim()
  return line.charAt(0).toUpperCase() + line.slice(1)
}
