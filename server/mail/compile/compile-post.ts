import { createHash } from 'node:crypto'
import { escapeHtml } from '../../base/html.ts'
import { beforeBodyEnd, htmlDocument, htmlFooter, htmlFromMarkdown, inlineCss, textFooter, textFromHtml, withPreview } from './body.ts'
import { type BodyPiece, type FilledPost, fillBody, layOutBody } from './fill.ts'
import { rewriteHtmlLinks, rewriteTextLinks } from './links.ts'
import { checkTemplate, liquidTemplate, type TemplateField } from './liquid.ts'
import { type MergeTags, type SetAside, setAsideTags } from './merge-tags.ts'
import { type Fixed, makePart, type Part, type Recipient, textOf, tokenText } from './part.ts'
import { composeHeaders } from './post-headers.ts'

/** What the author wrote. Of several bodies, HTML goes before Markdown; a text beside either is the text part. */
export interface PostSource {
  subject: string
  preview_text: string | null
  html: string | null
  text: string | null
  markdown: string | null
}

/** What the list, the sender and the program add. `{token}` and `{link}` are filled in per recipient and link. */
export interface PostFrame {
  from: { name: string | null; address: string }
  reply_to: string | null
  list: { name: string; id_host: string; help_url: string | null; archive_url: string | null }
  postal_address: string | null
  track_opens: boolean
  track_clicks: boolean
  urls: { unsubscribe: string; one_click: string; click: string; open: string }
  /** `complaints` takes reports of RFC 9477, where it is set. */
  mail: { return_path: string; unsubscribe: string; complaints?: string | null }
  feedback_id: string
  message_id_domain: string
  /** A text where the frame was kept as JSON. */
  date: Date | string
}

export interface CompiledPost {
  /** Distinct http(s) addresses in the order of their first link; the click URL's {link} is an index into it. */
  links: string[]
  /** Liquid runs for each recipient: dearer than filling slots. */
  needs_logic: boolean
  fill(recipient: Recipient): FilledPost
  /** The envelope sender (VERP) of this recipient's copy. */
  returnPath(recipient: { token: string }): string
}

export type { FilledPost, Recipient }

/** Compiles once for all recipients. Throws a TemplateError where the author's text does not work. */
export function compilePost(source: PostSource, frame: PostFrame): CompiledPost {
  const fixed = fixedOf(frame)
  const parts = makeParts(source, frame, fixed)
  const boundary = boundaryOf(source, frame)
  const headers = composeHeaders(frame, parts.subject, fixed, parts.html ? `multipart/alternative;\r\n boundary="${boundary}"` : null)
  const body = layOutBody(bodyPieces(parts, boundary, fixed))
  const [before, after] = tokenText(frame.mail.return_path)
  return {
    links: parts.links,
    needs_logic: [parts.subject, parts.text, parts.html].some((part) => part?.kind === 'logic'),
    fill(recipient) {
      if (!isToken.test(recipient.token)) throw new Error(`${JSON.stringify(recipient.token)} is not a token that can stand in a link`)
      return fillBody(body, headers(recipient), recipient)
    },
    returnPath: ({ token }) => `${before}${token}${after}`,
  }
}

const isToken = /^[\w.~-]{1,200}$/

export interface Preview {
  subject: string
  /** Null for a post of text alone. */
  html: string | null
  text: string
}

/** What a reader would see, as text; opens and clicks in it count for nothing. */
export function previewOf(source: PostSource, frame: PostFrame, recipient: Recipient): Preview {
  const fixed = fixedOf(frame)
  const parts = makeParts(source, { ...frame, track_opens: false, track_clicks: false }, fixed)
  return {
    subject: textOf(parts.subject, recipient, fixed),
    html: parts.html && textOf(parts.html, recipient, fixed),
    text: textOf(parts.text, recipient, fixed),
  }
}

/** At the time of saving: every field is read, and tried once on a made-up reader, so that what cannot work is told at once. */
export function checkTemplates(source: PostSource): void {
  for (const [field, text] of fieldsOf(source)) {
    checkTemplate(field, text)
    liquidTemplate({ field, source: text, mode: 'text', original: text })(sampleScope)
  }
}

/** Whether a merge tag says anything of the person beside name and address: `{{ contact.city }}`, `{% if contact.tags contains "vip" %}`. */
export const usesContact = (source: PostSource): boolean =>
  fieldsOf(source).some(([, text]) => setAsideTags(text).tags.all.some((tag) => tag.kind !== 'literal' && /\bcontact\b/.test(tag.source)))

const fieldsOf = (source: PostSource): [TemplateField, string][] =>
  (
    [
      ['subject', source.subject],
      ['preview_text', source.preview_text],
      ['body_html', source.html],
      ['body_markdown', source.markdown],
      ['body_text', source.text],
    ] as [TemplateField, string | null][]
  ).flatMap(([field, text]) => (text === null ? [] : [[field, text]]))

const sampleScope = {
  name: 'Ann Lee',
  first_name: 'Ann',
  email: 'ann@example.com',
  contact: { metadata: {}, tags: [] },
  unsubscribe_url: 'https://example.com/u/x',
  list_name: 'News',
  postal_address: '',
}

const fixedOf = (frame: PostFrame): Fixed => ({
  unsubscribe: tokenText(frame.urls.unsubscribe),
  list_name: frame.list.name,
  postal_address: frame.postal_address ?? '',
})

interface Parts {
  subject: Part
  html: Part | null
  text: Part
  links: string[]
}

function makeParts(source: PostSource, frame: PostFrame, fixed: Fixed): Parts {
  for (const [field, text] of fieldsOf(source)) checkTemplate(field, text)
  const subject = setAsideTags(source.subject)
  const links = new PostLinks(frame)
  const html = htmlBody(source, frame, links)
  const text = textBody(source, frame, html, links)
  return {
    subject: makePart({ field: 'subject', pieces: subject.tags.split(subject.text), mode: 'text', original: source.subject }, fixed),
    html: html && makePart({ field: html.field, pieces: html.tags.split(html.page), mode: 'html', original: html.original }, fixed),
    text: makePart({ field: text.field, pieces: text.tags.split(ended(text.text)), mode: 'text', original: text.original }, fixed),
    links: links.urls,
  }
}

const ended = (text: string): string => `${text.trimEnd()}\n`

interface HtmlBody {
  field: TemplateField
  original: string
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
  return { field, original, tags, written, page: ended(page) }
}

/** The preview text becomes a part of the page: its words escaped, its tags among the page's own. */
function previewHtml(preview: string, tags: MergeTags): string {
  const { text, tags: own } = setAsideTags(preview)
  return own
    .split(text)
    .map((piece) => (typeof piece === 'string' ? escapeHtml(piece) : tags.add(piece)))
    .join('')
}

const openUrl = (frame: PostFrame, tags: MergeTags): string => withToken(frame.urls.open, tags)

const token = { kind: 'token', source: '{{ delivery_token }}' } as const

const withToken = (url: string, tags: MergeTags): string => {
  const [before, after] = tokenText(url)
  return `${escapeHtml(before)}${tags.add(token)}${escapeHtml(after)}`
}

interface TextBody extends SetAside {
  field: TemplateField
  original: string
}

/** In a mail that has HTML the text part shows where links lead; a post of text alone leads them through the counter, as it has no others. */
function textBody(source: PostSource, frame: PostFrame, html: HtmlBody | null, links: PostLinks): TextBody {
  const footer = { list_name: frame.list.name, postal_address: frame.postal_address }
  if (source.text === null && html) {
    return { field: html.field, original: html.original, tags: html.tags, text: textFooter(textFromHtml(html.written), html.tags, footer) }
  }
  const { text, tags } = setAsideTags(source.text ?? '')
  const linked = html ? text : rewriteTextLinks(text, (url) => links.replace(url, tags))
  return { field: 'body_text', original: source.text ?? '', tags, text: textFooter(linked, tags, footer) }
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
    return withToken(this.frame.urls.click.replace('{link}', String(index)), tags)
  }
}

const partFields = (type: string): string => `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`

function bodyPieces({ text, html }: Parts, boundary: string, fixed: Fixed): BodyPiece[] {
  if (!html) return [{ part: text, fixed }]
  return [
    `--${boundary}\r\n${partFields('text/plain')}`,
    { part: text, fixed },
    `\r\n--${boundary}\r\n${partFields('text/html')}`,
    { part: html, fixed },
    `\r\n--${boundary}--\r\n`,
  ]
}

/** "=_" cannot occur in quoted-printable (RFC 2045 section 6.7), so no body can hold it. */
const boundaryOf = (source: PostSource, frame: PostFrame): string =>
  `=_${createHash('sha256')
    .update(JSON.stringify([source, frame.feedback_id]))
    .digest('base64url')
    .slice(0, 24)}`
