const inline =
  /<\/?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|time|tt|u|var|wbr)(?: [^<>]*)?>/g
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' }
/** Letters that only keep others apart, or fill up what mail programs show beside a subject. */
const invisible = /\u00ad|\u034f|\u200b|\u2060|\ufeff/g
/** They join or part the letters beside them; alone they are nothing. */
const joiners = /(?<=^|\s)[\u200c\u200d]+(?=\s|$)/g

/** The words of a page that was made safe (`sanitise-page.ts`): its tags are whole, and only four entities are left in it. */
export const textOfPage = (html: string): string =>
  html
    .replace(inline, '')
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot);/g, (_, name: string) => entities[name] as string)
    .replace(invisible, '')
    .replace(joiners, '')
    .replace(blanks, ' ')
    .trim()

/** Neither a database nor a feed can hold some of these. */
export const blanks = /[\s\p{Cc}]+/gu

const excerptLetters = 220
/** Enough to have an excerpt's letters in it, however many tags are between. */
const beginning = 40_000

/** How a page begins, without its headings where it has more to say. */
export function beginningOf(html: string): string {
  const start = html.slice(0, beginning).replace(/<[^<>]*$/, '')
  return shortened(textOfPage(start.replace(/<h([2-6])(?: [^<>]*)?>[\s\S]*?(?:<\/h\1>|$)/g, ' ')) || textOfPage(start))
}

export function shortened(line: string): string {
  if (line.length <= excerptLetters) return line
  const blank = line.lastIndexOf(' ', excerptLetters)
  const cut = line.slice(0, blank < excerptLetters - 40 ? excerptLetters : blank)
  // Neither half of a letter, nor the sign before a word that is not there.
  return `${cut.replace(/(?:[\ud800-\udbff]|[\s,.;:–—-]+)$/, '')} …`
}
