import { createRequire } from 'node:module'
import { htmlToText } from 'html-to-text'
import { Marked } from 'marked'
import { escapeHtml } from '../../base/html.ts'
import { tagEnd, visibleHtml } from './links.ts'
import type { MergeTags } from './merge-tags.ts'

/** What the body's making needs to know of the list. */
export interface Footer {
  list_name: string
  postal_address: string | null
}

/**
 * Without links for bare e-mail addresses, which mail programs make themselves: looking for them takes time with the square of a word's
 * length. `<ann@example.com>` is one, as are bare addresses of the web.
 */
const marked = new Marked({
  gfm: true,
  breaks: false,
  tokenizer: {
    // False leaves it to marked.
    url: (source) => (/^(?:https?:\/\/|ftp:\/\/|www\.)/i.test(source) ? false : undefined),
    inlineText(source) {
      const [raw] = plainText.exec(source) ?? []
      return raw ? { type: 'text', raw, text: raw, escaped: this.lexer.state.inRawBlock } : undefined
    },
  },
})

/** Up to the next letters that may mean something. */
const plainText = /^(?:`+|~+|[\s\S])(?:(?= {2,}\n)|[\s\S]*?(?=[\\<![`*~_]|https?:\/\/|ftp:\/\/|(?<![^\s*_~(])www\.|(?<=[^ ]) {2,}\n|$))/i

/**
 * Markdown to HTML. A tag that steers and has a line to itself (`{% for … %}`) goes through as a comment, which ends a paragraph or a
 * list and becomes no paragraph of its own.
 */
export const htmlFromMarkdown = (markdown: string, tags: MergeTags): string =>
  page(`<div style="max-width:600px;margin:0 auto">\n${markdownContent(markdown, tags)}</div>`, {
    body: 'margin:0;padding:24px;font:16px/1.6 -apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif;color:#222',
    sheet: 'img{max-width:100%;height:auto}pre{overflow:auto}blockquote{margin:0 0 0 16px;color:#555}',
  })

/** The same without the page around it, for whoever has one. */
export function markdownContent(markdown: string, tags: MergeTags): string {
  const set = markdown.replace(/^[ \t]*(ph\d+n\d+z)[ \t]*$/gm, (line, word) => (tags.controls.has(word) ? `<!--${word}-->` : line))
  return (marked.parse(set) as string).replace(/<!--(ph\d+n\d+z)-->/g, (comment, word) => (tags.controls.has(word) ? word : comment))
}

/** A whole document: what has no body of its own is put into one. */
export const htmlDocument = (html: string): string => (/<(?:html|body)(?=[\s>])/i.test(html) ? html : page(html, { body: '', sheet: '' }))

const page = (content: string, { body, sheet }: { body: string; sheet: string }): string => `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
${sheet && `<style>${sheet}</style>\n`}</head>
<body${body && ` style="${body}"`}>
${content}
</body>
</html>
`

/** Loaded with the first sheet there is to inline: it brings a whole DOM, which would take most of the time that the program takes to start. */
const require = createRequire(import.meta.url)
const loadJuice = () => (require('juice') as typeof import('juice')).default

/** Elements times rules: what inlining costs grows with it, and a page without it is better than none. */
const maxInlining = 2_000_000

/**
 * Styles moved into the elements, as many mail programs ignore sheets; media queries and the like stay. Nothing is loaded. Where the
 * merge tags would not come through whole and in order (one inside the sheet itself, say), the page stays as it was written.
 */
export function inlineCss(html: string, tags: MergeTags): string {
  if (!/<style[\s>]/i.test(html)) return html
  if ((html.match(/</g)?.length ?? 0) * (html.match(/\{/g)?.length ?? 0) > maxInlining) return html
  const inlined = loadJuice()(html, {
    removeStyleTags: true,
    preserveMediaQueries: true,
    preserveFontFaces: true,
    preserveKeyFrames: true,
    preservePseudos: true,
    preserveImportant: true,
  })
  return isSteeredTheSame(html, inlined, tags) ? inlined : html
}

/** A rule that fits nothing may go with the tags in it; all that steers, and every tag of the page itself, must have stayed. */
function isSteeredTheSame(before: string, after: string, tags: MergeTags): boolean {
  const tagsOf = (html: string) => tags.split(html).filter((piece) => typeof piece !== 'string')
  const found = tagsOf(after)
  const distinct = new Set(found)
  if (!tagsOf(visibleHtml(before)).every((tag) => distinct.has(tag))) return false
  const controls = found.filter((tag) => tag.kind === 'control')
  const expected = tags.all.filter((tag) => tag.kind === 'control')
  return controls.length === expected.length && controls.every((tag, index) => tag === expected[index])
}

/** The text part for those who read no HTML: addresses in <…> behind their words (RFC 3986 appendix C), images by their alt text. */
export const textFromHtml = (html: string): string =>
  htmlToText(html, {
    wordwrap: false,
    selectors: [
      { selector: 'a', options: { linkBrackets: ['<', '>'], hideLinkHrefIfSameAsText: true } },
      { selector: 'img', format: 'alt' },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    ],
    formatters: {
      alt: (element, _walk, builder) => {
        if (element.attribs.alt) builder.addInline(element.attribs.alt)
      },
    },
  })

/** The way out of the list, and who sends this: added unless the author put both where every reader sees them. */
export function htmlFooter(html: string, tags: MergeTags, footer: Footer): string {
  const visible = visibleHtml(html)
  const lines: string[] = []
  if (!hasVariable(visible, tags, 'unsubscribe_url')) {
    const link = (name: string, words: string): string => `<a href="${tags.add(`{{ ${name} }}`)}" style="color:#666">${words}</a>`
    const preferences = hasVariable(visible, tags, 'preferences_url') ? '' : ` · ${link('preferences_url', 'Preferences')}`
    lines.push(`You get this mail because you subscribed to ${escapeHtml(footer.list_name)}.`)
    lines.push(`${link('unsubscribe_url', 'Unsubscribe')}${preferences}`)
  }
  if (footer.postal_address && !hasVariable(visible, tags, 'postal_address')) {
    lines.push(escapeHtml(footer.postal_address).replace(/\r\n|\r|\n/g, '<br>'))
  }
  if (lines.length === 0) return html
  const style = 'max-width:600px;margin:32px auto 0;padding:16px;font:13px/1.5 Helvetica,Arial,sans-serif;color:#666;text-align:center'
  return beforeBodyEnd(html, `<div style="${style}">${lines.join('<br>\n')}</div>\n`)
}

export function textFooter(text: string, tags: MergeTags, footer: Footer): string {
  const lines: string[] = []
  if (!hasVariable(text, tags, 'unsubscribe_url')) {
    lines.push(`Unsubscribe: ${tags.add('{{ unsubscribe_url }}')}`)
    if (!hasVariable(text, tags, 'preferences_url')) lines.push(`Preferences: ${tags.add('{{ preferences_url }}')}`)
  }
  if (footer.postal_address && !hasVariable(text, tags, 'postal_address')) lines.push(footer.postal_address)
  if (lines.length === 0) return text
  return `${text.trimEnd()}\n\n-- \n${footer.list_name}\n${lines.join('\n')}\n`
}

/** Inside {% if %} it may be there for some readers only, which is not enough. */
const hasVariable = (text: string, tags: MergeTags, name: string): boolean =>
  tags
    .split(text)
    .some((piece) => typeof piece !== 'string' && piece.kind === 'variable' && !piece.isInBlock && piece.variable.path[0] === name)

/** What the list of mails shows beside the subject. The blanks keep the first words of the body out of it. */
export function withPreview(html: string, preview: string): string {
  const hidden = 'display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all'
  const element = `<div style="${hidden}">${preview}${'&#847;&zwnj;&nbsp;'.repeat(60)}</div>\n`
  const start = html.search(/<body(?=[\s>])/i)
  const at = start < 0 ? -1 : tagEnd(html, start + 5)
  if (at < 0) return element + html
  return `${html.slice(0, at)}\n${element}${html.slice(at)}`
}

export function beforeBodyEnd(html: string, element: string): string {
  const at = html.toLowerCase().lastIndexOf('</body')
  return at < 0 ? html + element : html.slice(0, at) + element + html.slice(at)
}
