/**
 * Finds the links of a post and leads them through the click counter. Works on the text of the HTML, letter by letter and in one pass,
 * so that nothing else in it changes and no hostile page can make it slow.
 */

/** `<a href>` and `<area href>` with an http(s) address. Comments, styles and scripts are passed over. */
export function rewriteHtmlLinks(html: string, replace: (url: string) => string | null): string {
  let result = ''
  let done = 0
  for (const { start, end } of anchorTags(html)) {
    const tag = html.slice(start, end)
    const href = hrefPattern.exec(tag)
    const written = href?.[1] ?? href?.[2] ?? href?.[3]
    if (!href || written === undefined) continue
    const replaced = replace(decodeEntities(written).trim())
    if (replaced === null) continue
    const at = start + href.index
    result += `${html.slice(done, at)} href="${replaced}"`
    done = at + href[0].length
  }
  return result + html.slice(done)
}

const hrefPattern = /[\s/]href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i

function* anchorTags(html: string): Generator<{ start: number; end: number }> {
  const open = /<!--|<(?:style|script|title|textarea|a|area)(?=[\s/>])/gi
  for (let match = open.exec(html); match; match = open.exec(html)) {
    const name = match[0].slice(1).toLowerCase()
    const end = name === '!--' ? after(html, '-->', open.lastIndex) : tagEnd(html, open.lastIndex)
    // Nothing closes it, so that a reader's program takes all the rest for a part of it.
    if (end < 0) return
    if (name === 'a' || name === 'area') yield { start: match.index, end }
    const next = name === '!--' || name === 'a' || name === 'area' ? end : closing(html, name, end)
    if (next < 0) return
    open.lastIndex = next
  }
}

const after = (text: string, what: string, from: number): number => {
  const at = text.indexOf(what, from)
  return at < 0 ? -1 : at + what.length
}

function closing(html: string, name: string, from: number): number {
  const close = new RegExp(`</${name}`, 'gi')
  close.lastIndex = from
  return close.exec(html) ? close.lastIndex : -1
}

/** Behind the ">" that ends the tag, which one inside quotes does not. */
export function tagEnd(html: string, from: number): number {
  for (let at = from; at < html.length; at++) {
    const letter = html[at]
    if (letter === '>') return at + 1
    if (letter === '"' || letter === "'") {
      at = html.indexOf(letter, at + 1)
      if (at < 0) return -1
    }
  }
  return -1
}

/** Bare addresses in plain text, without the full stop or bracket that ends the sentence around them. */
export const rewriteTextLinks = (text: string, replace: (url: string) => string | null): string =>
  text.replace(/https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]}]/gi, (url) => replace(url) ?? url)

/** HTML without what nobody sees. */
export function visibleHtml(html: string): string {
  let result = ''
  let done = 0
  const open = /<!--|<(?:style|script|title|head)(?=[\s/>])/gi
  for (let match = open.exec(html); match; match = open.exec(html)) {
    const name = match[0].slice(1).toLowerCase()
    result += html.slice(done, match.index)
    done = name === '!--' ? after(html, '-->', open.lastIndex) : closing(html, name, open.lastIndex)
    if (done < 0) return result
    open.lastIndex = done
  }
  return result + html.slice(done)
}

const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The entities that addresses are written with; the rest of HTML's two thousand mean letters that no address has. */
const decodeEntities = (text: string): string =>
  text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (whole, hexadecimal, decimal, name) => {
    if (name) return named[name.toLowerCase()] as string
    const code = hexadecimal ? Number.parseInt(hexadecimal, 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
