import type { TemplateField } from './template-error.ts'

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
  /** `preferences` is not there in frames that were kept before there was such a page. */
  urls: { unsubscribe: string; one_click: string; preferences?: string; click: string; open: string }
  /** `unsubscribe` is null where nobody would read what is sent there; `complaints` takes reports of RFC 9477, where it is set. */
  mail: { return_path: string; unsubscribe: string | null; complaints?: string | null }
  feedback_id: string
  message_id_domain: string
  /** A text where the frame was kept as JSON. */
  date: Date | string
}

const keys: Record<TemplateField, keyof PostSource> = {
  subject: 'subject',
  preview_text: 'preview_text',
  body_html: 'html',
  body_markdown: 'markdown',
  body_text: 'text',
}

/** What stands in a field that the API names so; nothing, where it is left out. */
export const fieldOf = (source: PostSource, field: TemplateField): string => source[keys[field]] ?? ''

/** The fields that there are. */
export const fieldsOf = (source: PostSource): [TemplateField, string][] =>
  (Object.keys(keys) as TemplateField[]).flatMap((field) => (source[keys[field]] === null ? [] : [[field, fieldOf(source, field)]]))

/** Of the bodies, the one that the others are made from. */
export const mainFieldOf = (source: PostSource): TemplateField =>
  source.html !== null ? 'body_html' : source.markdown !== null ? 'body_markdown' : 'body_text'
