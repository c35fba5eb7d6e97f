const entities: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
  agrave: 'à',
  ecirc: 'ê',
  ccedil: 'ç',
  ntilde: 'ñ',
  oacute: 'ó',
  iacute: 'í',
  aacute: 'á',
  uacute: 'ú',
}

const breaks = /^\/?(?:p|div|tr|li|ul|ol|h[1-6]|table|blockquote|pre|hr|section|article)$/
const hidden = /^(?:style|script|head|title|template)$/

/**
 * The text of an HTML part, one line per block, good enough to read words from; quoted parts (`<blockquote>`) get the ">" that plain
 * text has. One pass over the letters, whatever the markup: it comes from strangers.
 */
export function textOfHtml(html: string): string {
  const lines: string[] = []
  let line = ''
  let depth = 0
  const unclosed = new Set<string>()
  const endLine = () => {
    const words = line.replace(/\s+/g, ' ').trim()
    if (words !== '' || lines.at(-1) !== '') lines.push(depth > 0 ? `${'>'.repeat(Math.min(depth, 9))} ${words}` : words)
    line = ''
  }
  let offset = 0
  while (offset < html.length) {
    const open = html.indexOf('<', offset)
    const end = open < 0 ? html.length : open
    line += decodeEntities(html.slice(offset, end))
    if (open < 0) break
    const tag = tagAt(html, open)
    offset = tag.end
    if (tag.name === 'br') endLine()
    else if (breaks.test(tag.name)) {
      if (line.trim() !== '') endLine()
      // Blanks alone would be looked through again at each tag.
      line = ''
      if (tag.name === 'blockquote') depth++
      else if (tag.name === '/blockquote') depth = Math.max(0, depth - 1)
    } else if (hidden.test(tag.name) && !unclosed.has(tag.name)) {
      const closing = closingOf(html, tag.name, offset)
      if (closing < 0) unclosed.add(tag.name)
      else offset = closing
    }
    if (tag.name === 'td' || tag.name === '/td') line += ' '
  }
  endLine()
  return lines.join('\n').trim()
}

function tagAt(html: string, open: number): { name: string; end: number } {
  if (html.startsWith('<!--', open)) {
    const close = html.indexOf('-->', open + 4)
    return { name: '', end: close < 0 ? html.length : close + 3 }
  }
  const close = html.indexOf('>', open)
  const name = /^<(\/?[a-z][a-z\d]*)/i.exec(html.slice(open, open + 20))?.[1]?.toLowerCase() ?? ''
  return { name, end: close < 0 ? html.length : close + 1 }
}

/** Without a closing tag the rest is taken for shown, and not searched again: to lose a notice to one stray "<head>" would be worse. */
function closingOf(html: string, name: string, offset: number): number {
  // One search for both spellings: one after the other, the first would read to the end each time.
  const closing = new RegExp(`</${name}`, 'gi')
  closing.lastIndex = offset
  return closing.exec(html)?.index ?? -1
}

const decodeEntities = (text: string) =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name) return entities[name.toLowerCase()] ?? whole
    const point = decimal ? Number(decimal) : Number.parseInt(hex, 16)
    return point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : ' '
  })
