import { textOfEntities } from './entities.ts'
import { plainLetters } from './fold.ts'

/** Letters `start` to `end` stand out: 2 for large or widely spaced type, 1 for bold and the like. */
export interface Mark {
  start: number
  end: number
  level: number
}

export interface WrittenLink {
  url: string
  /** Where its words stand in the text. */
  start: number
  end: number
}

export interface HtmlText {
  text: string
  marks: Mark[]
  links: WrittenLink[]
}

/** Markup is several times as long as its words. */
const maxMarkup = 400_000
const maxText = 60_000
const maxLinks = 200
const maxDepth = 200

const blocks = /^(?:p|div|tr|li|ul|ol|h[1-6]|table|blockquote|pre|hr|section|article|header|footer|center|body|dl|dt|dd|form)$/
const hidden = /^(?:style|script|head|title|template|noscript)$/
const empty = /^(?:br|img|hr|meta|link|input|col|wbr|area|base)$/

/** The words of an HTML part with what its type says about them. One pass over the letters, whatever the markup. */
export function readHtml(html: string): HtmlText {
  const markup = html.slice(0, maxMarkup).replaceAll('\u0130', 'I')
  const lower = markup.toLowerCase()
  const builder = new TextBuilder()
  const unclosed = new Set<string>()
  let offset = 0
  while (offset < markup.length && builder.length < maxText) {
    const open = markup.indexOf('<', offset)
    builder.addText(markup.slice(offset, Math.min(open < 0 ? markup.length : open, offset + maxText)))
    if (open < 0) break
    const tag = tagAt(markup, open, unclosed)
    offset = tag.end
    if (hidden.test(tag.name) && !tag.isClosing && !unclosed.has(tag.name)) {
      const closing = lower.indexOf(`</${tag.name}`, offset)
      if (closing < 0) unclosed.add(tag.name)
      else offset = closing
    } else if (tag.name !== '') builder.addTag(tag)
  }
  return builder.finish()
}

interface Tag {
  name: string
  isClosing: boolean
  attributes: string
  end: number
}

/** `unclosed` remembers which quotes have no partner in the rest, so that it is searched for them only once. */
function tagAt(markup: string, open: number, unclosed: Set<string>): Tag {
  if (markup.startsWith('<!--', open)) {
    const close = markup.indexOf('-->', open + 4)
    return { name: '', isClosing: false, attributes: '', end: close < 0 ? markup.length : close + 3 }
  }
  const head = /^<(\/?)([a-z][a-z\d]{0,15})/i.exec(markup.slice(open, open + 18))
  if (!head) {
    const isDeclaration = /[!?/]/.test(markup.charAt(open + 1))
    const close = isDeclaration ? markup.indexOf('>', open) : open
    return { name: '', isClosing: false, attributes: '', end: close < 0 ? markup.length : close + 1 }
  }
  let at = open + head[0].length
  for (; at < markup.length; at++) {
    const letter = markup.charAt(at)
    if (letter === '>') break
    if ((letter !== '"' && letter !== "'") || unclosed.has(letter)) continue
    const partner = markup.indexOf(letter, at + 1)
    if (partner < 0) unclosed.add(letter)
    else at = partner
  }
  const attributes = markup.slice(open + head[0].length, at)
  return { name: (head[2] as string).toLowerCase(), isClosing: head[1] === '/', attributes, end: at + 1 }
}

class TextBuilder {
  #pieces: string[] = []
  length = 0
  #gap = ''
  #stack: { name: string; level: number }[] = []
  #marks: Mark[] = []
  #links: WrittenLink[] = []
  #openLink: { url: string; start: number | null } | null = null

  addText(raw: string): void {
    if (raw === '') return
    const text = plainLetters(textOfEntities(raw)).replace(/\s+/g, ' ')
    if (text.startsWith(' ')) this.#widen(' ')
    const words = text.trim()
    if (words === '') return
    if (this.length > 0 && this.#gap !== '') this.#push(this.#gap)
    this.#gap = ''
    const start = this.length
    if (this.#openLink && this.#openLink.start === null) this.#openLink.start = start
    this.#push(words)
    const level = this.#stack.at(-1)?.level ?? 0
    if (level > 0) this.#mark(start, level)
    if (text.endsWith(' ')) this.#widen(' ')
  }

  addTag({ name, isClosing, attributes }: Tag): void {
    if (name === 'br') this.#widen(this.#gap.startsWith('\n') ? '\n\n' : '\n')
    else if (blocks.test(name)) this.#widen(name === 'p' || name === 'table' || /^h\d$/.test(name) ? '\n\n' : '\n')
    else if (name === 'td' || name === 'th') this.#widen(' ')
    if (name === 'a') this.#turnLink(isClosing, attributes)
    if (name === 'img' && this.#openLink) this.addText(attributeOf(attributes, 'alt') ?? '')
    if (empty.test(name)) return
    if (isClosing) this.#leave(name)
    else if (this.#stack.length < maxDepth)
      this.#stack.push({ name, level: Math.max(this.#stack.at(-1)?.level ?? 0, levelOf(name, attributes)) })
  }

  finish(): HtmlText {
    this.#turnLink(true, '')
    return { text: this.#pieces.join(''), marks: this.#marks, links: this.#links }
  }

  /** The wider of two gaps stays: an empty line over a line end over a space. */
  #widen(gap: ' ' | '\n' | '\n\n'): void {
    const width = (text: string) => (text.startsWith('\n') ? text.length + 1 : text.length)
    if (width(gap) > width(this.#gap)) this.#gap = gap
  }

  #push(piece: string): void {
    this.#pieces.push(piece)
    this.length += piece.length
  }

  /** Digits may stand in a tag each: neighbours of one level are one mark. */
  #mark(start: number, level: number): void {
    const last = this.#marks.at(-1)
    if (last && last.level === level && start - last.end <= 1) last.end = this.length
    else this.#marks.push({ start, end: this.length, level })
  }

  #leave(name: string): void {
    for (let depth = this.#stack.length - 1; depth >= Math.max(0, this.#stack.length - 8); depth--) {
      if (this.#stack[depth]?.name !== name) continue
      this.#stack.length = depth
      return
    }
  }

  #turnLink(isClosing: boolean, attributes: string): void {
    const open = this.#openLink
    if (open && this.#links.length < maxLinks) this.#links.push({ url: open.url, start: open.start ?? this.length, end: this.length })
    const url = isClosing ? null : attributeOf(attributes, 'href')
    this.#openLink = url === null ? null : { url: textOfEntities(url).trim(), start: null }
  }
}

function levelOf(name: string, attributes: string): number {
  const byName = name === 'h1' || name === 'h2' ? 2 : /^(?:b|strong|code|pre|h3|h4|kbd|tt)$/.test(name) ? 1 : 0
  const style = attributeOf(attributes, 'style')?.slice(0, 600).toLowerCase()
  if (!style) return byName
  const size = /font-size ?: ?([\d.]{1,6}) ?(px|pt|r?em|%)/.exec(style)
  const pixels = size ? Number(size[1]) * (pixelsPer[size[2] as string] ?? 1) : 0
  if (pixels >= 21 || /letter-spacing ?: ?(?:[1-9]|0?\.[1-9])/.test(style)) return 2
  return pixels >= 17 || /font-weight ?: ?(?:bold|[6-9]00)|monospace|courier/.test(style) ? Math.max(1, byName) : byName
}

const pixelsPer: Record<string, number> = { px: 1, pt: 1.33, em: 16, rem: 16, '%': 0.16 }

function attributeOf(attributes: string, name: string): string | null {
  const match = attributePatterns[name]?.exec(attributes)
  return match ? (match[1] ?? match[2] ?? match[3] ?? '') : null
}

const attributePattern = (name: string) => new RegExp(`(?:^|[\\s"'])${name}=(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i')
const attributePatterns: Record<string, RegExp> = {
  href: attributePattern('href'),
  style: attributePattern('style'),
  alt: attributePattern('alt'),
}
