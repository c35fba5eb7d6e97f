import { escapeHtml } from '../../base/html.ts'
import { htmlDocument, inlineCss, markdownContent } from './body.ts'
import { rewriteTextLinks } from './links.ts'
import { setAsideTags } from './merge-tags.ts'
import { refuseOddShapes } from './odd-shapes.ts'
import { beginningOf, blanks, shortened, textOfPage } from './page-text.ts'
import { type Fixed, makePart, openPart, type Recipient, textOf } from './part.ts'
import { hasTags, tidyLine } from './plain-line.ts'
import { mainFieldOf, type PostSource } from './post-source.ts'
import { type SafePage, sanitisePage } from './sanitise-page.ts'

/** A post as a page of the web shows it. */
export interface PostPage extends SafePage {
  /** Its subject and its preview text, which may both be empty. */
  title: string
  preview: string
  /** What it is about: the preview text, or how it begins. */
  excerpt: string
  /** What can be read on it, for a search: so much of it. */
  text: string
  /** For a reading time. What is written without blanks counts by its letters. */
  words: number
}

const searchedLetters = 50_000

/** What is the same for every reader, as merge tags name it. */
export type PageFixed = Omit<Fixed, 'unsubscribe' | 'preferences'>

const nobody: Recipient = {
  tokens: { click: '', open: '', unsubscribe: '', return_path: '' },
  email: '',
  name: null,
  message_id: '',
  values: { contact: {} },
}

/** Merge tags say what they say to somebody of whom nothing is known; the way out of a list leads nowhere here and goes. */
export function pageOf(source: PostSource, fixed: PageFixed): PostPage {
  const whole = { ...fixed, unsubscribe: ['', ''], preferences: ['', ''] } satisfies Fixed
  const safe = sanitisePage(bodyOf(source, whole))
  const preview = lineOf(source, 'preview_text', whole)
  const text = textOfPage(safe.html)
  return {
    ...safe,
    title: lineOf(source, 'subject', whole),
    preview,
    excerpt: shortened(preview) || beginningOf(safe.html),
    text: text.slice(0, searchedLetters),
    words: countWords(text),
  }
}

function bodyOf(source: PostSource, fixed: Fixed): string {
  const field = mainFieldOf(source)
  const original = source.html ?? source.markdown ?? source.text ?? ''
  refuseOddShapes(field, original)
  const { text, tags } = setAsideTags(original)
  const written = contentOf(source, text, tags)
  return textOf(openPart(makePart({ field, pieces: tags.split(written), mode: 'html' }, fixed), source), nobody, fixed)
}

/** By the same engine as the page, so that neither says what the other does not. */
function lineOf(source: PostSource, field: 'subject' | 'preview_text', fixed: Fixed): string {
  const written = source[field] ?? ''
  if (!hasTags(written)) return written.replace(blanks, ' ').trim()
  const { text, tags } = setAsideTags(written)
  return tidyLine(textOf(openPart(makePart({ field, pieces: tags.split(text), mode: 'text' }, fixed), source), nobody, fixed))
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

function countWords(text: string): number {
  const letters = text.match(unspaced)?.length ?? 0
  return (text.replace(unspaced, ' ').match(/[\p{L}\p{N}]\S*/gu)?.length ?? 0) + Math.ceil(letters / 2)
}
