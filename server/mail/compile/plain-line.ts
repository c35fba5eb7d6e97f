import { setAsideTags } from './merge-tags.ts'

/**
 * A subject or a preview text as somebody reads it of whom nothing is known: tags with another value for nobody say that, all others say
 * nothing, and no comma is left behind by a name that is missing. Takes time with the length of the text alone.
 */
export function plainLine(text: string, { list_name }: { list_name: string }): string {
  if (!/\{[{%]/.test(text)) return text.trim()
  const { text: set, tags } = setAsideTags(text)
  const said = tags
    .split(set)
    .map((piece) => {
      if (typeof piece === 'string') return piece
      if (piece.kind === 'literal') return piece.text
      if (piece.kind !== 'variable') return ''
      return piece.variable.path[0] === 'list_name' ? list_name : (piece.variable.otherwise ?? '')
    })
    .join('')
    .replace(/\s+/g, ' ')
    .replace(/ ([,.!?;:])/g, '$1')
    .replace(/^[\s,.;:!?–—-]+/, '')
    .trim()
  return said.charAt(0).toUpperCase() + said.slice(1)
}
