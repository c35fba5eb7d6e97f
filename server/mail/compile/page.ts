import { escapeHtml } from '../../base/html.ts'
import { htmlDocument, inlineCss, markdownContent } from './body.ts'
import { rewriteTextLinks } from './links.ts'
import { setAsideTags } from './merge-tags.ts'
import { refuseOddShapes } from './odd-shapes.ts'
import { type Fixed, makePart, openPart, type Recipient, textOf } from './part.ts'
import { mainFieldOf, type PostSource } from './post-source.ts'
import { type SafePage, sanitisePage } from './sanitise-page.ts'

/** A post as a page of the web shows it. */
export interface PostPage extends SafePage {
  /** For a reading time. What is written without blanks counts by its letters. */
  words: number
}

/** What is the same for every reader, as merge tags name it. */
export type PageFixed = Omit<Fixed, 'unsubscribe'>

const nobody: Recipient = {
  tokens: { click: '', open: '', unsubscribe: '', return_path: '' },
  email: '',
  name: null,
  message_id: '',
  values: { contact: {} },
}

/** Merge tags say what they say to somebody of whom nothing is known; the way out of a list leads nowhere here and goes. */
export function pageOf(source: PostSource, fixed: PageFixed): PostPage {
  const field = mainFieldOf(source)
  const original = source.html ?? source.markdown ?? source.text ?? ''
  refuseOddShapes(field, original)
  const { text, tags } = setAsideTags(original)
  const written = contentOf(source, text, tags)
  const whole = { ...fixed, unsubscribe: ['', ''] } satisfies Fixed
  const part = openPart(makePart({ field, pieces: tags.split(written), mode: 'html' }, whole), source)
  const safe = sanitisePage(textOf(part, nobody, whole))
  return { ...safe, words: countWords(safe.html) }
}

function contentOf(source: PostSource, text: string, tags: ReturnType<typeof setAsideTags>['tags']): string {
  if (source.html !== null) return /<style[\s>]/i.test(text) ? inlineCss(htmlDocument(text), tags) : text
  return source.markdown !== null ? markdownContent(text, tags) : paragraphs(text)
}

/** Plain text: an empty line ends a paragraph, and addresses are links. */
const paragraphs = (text: string): string =>
  text
    .trim()
    .split(/\r?\n(?:[ \t]*\r?\n)+/)
    .map(
      (paragraph) =>
        `<p>${rewriteTextLinks(escapeHtml(paragraph), (url) => `<a href="${url}">${url}</a>`).replace(/\r?\n/g, '<br>\n')}</p>\n`,
    )
    .join('')

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu

function countWords(html: string): number {
  const text = html.replace(/<[^>]*>/g, ' ')
  const letters = text.match(unspaced)?.length ?? 0
  return (text.replace(unspaced, ' ').match(/[\p{L}\p{N}]\S*/gu)?.length ?? 0) + Math.ceil(letters / 2)
}
