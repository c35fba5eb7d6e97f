import { escapeHtml } from '../../base/html.ts'
import { beforeBodyEnd, htmlDocument, htmlFooter, htmlFromMarkdown, inlineCss, textFooter, textFromHtml, withPreview } from './body.ts'
import { rewriteHtmlLinks, rewriteTextLinks } from './links.ts'
import { checkTemplate, liquidTemplate } from './liquid.ts'
import { type MergeTags, type SetAside, setAsideTags, type Tag } from './merge-tags.ts'
import { refuseOddShapes } from './odd-shapes.ts'
import { type CompiledPost, fixedOf, openPost } from './open-post.ts'
import { makePart, needsLogic, openPart, type Part, type Recipient, textOf, tokenText } from './part.ts'
import { fieldsOf, mainFieldOf, type PostFrame, type PostSource } from './post-source.ts'
import { TemplateError, type TemplateField } from './template-error.ts'

/** What a post became, as plain data: kept with its broadcast, so that whoever sends reads none of what the author wrote. */
export interface CompiledParts {
  subject: Part
  /** Null for a post of text alone. */
  html: Part | null
  text: Part
  /** Distinct http(s) addresses in the order of their first link; the click URL's {link} is an index into it. */
  links: string[]
  /** A merge tag says more of the person than name and address: `{{ contact.city }}`, `{% if contact.tags contains "vip" %}`. */
  uses_contact: boolean
}

/**
 * Compiles once for all recipients. Throws a TemplateError where the author's text does not work. How long it takes is the author's choice:
 * only the thread behind `compiler.ts` does it for others.
 */
export const compilePost = (source: PostSource, frame: PostFrame): CompiledPost => openPost(compileParts(source, frame), source, frame)

export interface Preview {
  subject: string
  /** Null for a post of text alone. */
  html: string | null
  text: string
}

/** What readers would see, as text; opens and clicks in it count for nothing. */
export function previewsOf(source: PostSource, frame: PostFrame, recipients: Recipient[]): Preview[] {
  const fixed = fixedOf(frame)
  const parts = compileParts(source, { ...frame, track_opens: false, track_clicks: false })
  const subject = openPart(parts.subject, source)
  const html = parts.html && openPart(parts.html, source)
  const text = openPart(parts.text, source)
  return recipients.map((recipient) => ({
    subject: textOf(subject, recipient, fixed),
    html: html && textOf(html, recipient, fixed),
    text: textOf(text, recipient, fixed),
  }))
}

export const previewOf = (source: PostSource, frame: PostFrame, recipient: Recipient): Preview =>
  previewsOf(source, frame, [recipient])[0] as Preview

/** At the time of saving: every field is read, and tried once on a made-up reader, so that what cannot work is told at once. */
export function checkTemplates(source: PostSource): void {
  for (const [field, text] of fieldsOf(source)) {
    checkField(field, text)
    if (needsLogic(setAsideTags(text).tags.all)) liquidTemplate({ field, source: text, mode: 'text', original: text })(sampleScope)
  }
}

function checkField(field: TemplateField, text: string): void {
  checkTemplate(field, text)
  refuseOddShapes(field, text)
}

const sampleScope = {
  name: 'Ann Lee',
  first_name: 'Ann',
  email: 'ann@example.com',
  contact: { metadata: {}, tags: [] },
  unsubscribe_url: 'https://example.com/u/x',
  preferences_url: 'https://example.com/preferences/x',
  list_name: 'News',
  postal_address: '',
}

/** Refused rather than left uncounted, which nobody would notice. */
const maxLinks = 10_000

export function compileParts(source: PostSource, frame: PostFrame): CompiledParts {
  for (const [field, text] of fieldsOf(source)) checkField(field, text)
  const fixed = fixedOf(frame)
  const subject = setAsideTags(source.subject)
  const links = new PostLinks(frame)
  const html = htmlBody(source, frame, links)
  const text = textBody(source, frame, html, links)
  if (links.urls.length > maxLinks)
    throw new TemplateError(mainFieldOf(source), { line: 1, column: 1 }, `has more than ${maxLinks.toLocaleString('en')} different links`)
  return {
    subject: makePart({ field: 'subject', pieces: subject.tags.split(subject.text), mode: 'text' }, fixed),
    html: html && makePart({ field: html.field, pieces: html.tags.split(html.page), mode: 'html' }, fixed),
    text: makePart({ field: text.field, pieces: text.tags.split(ended(text.text)), mode: 'text' }, fixed),
    links: links.urls,
    uses_contact: [subject, html, text].some((part) => part?.tags.all.some(isOfContact)),
  }
}

const isOfContact = (tag: Tag): boolean => tag.kind !== 'literal' && /\bcontact\b/.test(tag.source)

const ended = (text: string): string => `${text.trimEnd()}\n`

interface HtmlBody {
  field: TemplateField
  tags: MergeTags
  /** As the author's own, for the text part. */
  written: string
  /** With everything added. */
  page: string
}

function htmlBody(source: PostSource, frame: PostFrame, links: PostLinks): HtmlBody | null {
  const original = source.html ?? source.markdown
  if (original === null) return null
  const field = source.html === null ? 'body_markdown' : 'body_html'
  const { text, tags } = setAsideTags(original)
  const written = source.html === null ? htmlFromMarkdown(text, tags) : htmlDocument(text)
  const withFooter = htmlFooter(inlineCss(written, tags), tags, { list_name: frame.list.name, postal_address: frame.postal_address })
  let page = rewriteHtmlLinks(withFooter, (url) => links.replace(url, tags))
  if (source.preview_text) page = withPreview(page, previewHtml(source.preview_text, tags))
  if (frame.track_opens)
    page = beforeBodyEnd(page, `<img src="${openUrl(frame, tags)}" width="1" height="1" alt="" style="display:block;border:0">\n`)
  return { field, tags, written, page: ended(page) }
}

/** The preview text becomes a part of the page: its words escaped, its tags among the page's own. */
function previewHtml(preview: string, tags: MergeTags): string {
  const { text, tags: own } = setAsideTags(preview)
  return own
    .split(text)
    .map((piece) => (typeof piece === 'string' ? escapeHtml(piece) : tags.add(piece)))
    .join('')
}

const openUrl = (frame: PostFrame, tags: MergeTags): string => withToken(frame.urls.open, 'open', tags)

const withToken = (url: string, purpose: 'click' | 'open', tags: MergeTags): string => {
  const [before, after] = tokenText(url)
  const token = tags.add({ kind: 'token', purpose, source: `{{ delivery_token.${purpose} }}` })
  return `${escapeHtml(before)}${token}${escapeHtml(after)}`
}

interface TextBody extends SetAside {
  field: TemplateField
}

/** In a mail that has HTML the text part shows where links lead; a post of text alone leads them through the counter, as it has no others. */
function textBody(source: PostSource, frame: PostFrame, html: HtmlBody | null, links: PostLinks): TextBody {
  const footer = { list_name: frame.list.name, postal_address: frame.postal_address }
  if (source.text === null && html) {
    return { field: html.field, tags: html.tags, text: textFooter(textFromHtml(html.written), html.tags, footer) }
  }
  const { text, tags } = setAsideTags(source.text ?? '')
  const linked = html ? text : rewriteTextLinks(text, (url) => links.replace(url, tags))
  return { field: 'body_text', tags, text: textFooter(linked, tags, footer) }
}

/** The links of a post, numbered as they are met. */
class PostLinks {
  readonly urls: string[] = []
  private readonly indexes = new Map<string, number>()
  private readonly frame: PostFrame

  constructor(frame: PostFrame) {
    this.frame = frame
  }

  /** The click URL, or null for what stays as it is: other schemes, addresses that differ from reader to reader, the way out. */
  replace(url: string, tags: MergeTags): string | null {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url) || tags.split(url).length > 1) return null
    if (url.startsWith(tokenText(this.frame.urls.unsubscribe)[0])) return null
    const index = this.indexes.get(url) ?? this.urls.push(url) - 1
    this.indexes.set(url, index)
    if (!this.frame.track_clicks) return null
    return withToken(this.frame.urls.click.replace('{link}', String(index)), 'click', tags)
  }
}
