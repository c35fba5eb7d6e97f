/** HTML in tagged templates: every value is escaped unless it is itself HTML made here. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Value = Html | Html[] | string | number | null

export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  let text = strings[0] as string
  values.forEach((value, index) => {
    text += render(value) + strings[index + 1]
  })
  return new Html(text)
}

function render(value: Value): string {
  if (value === null) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map((part) => part.text).join('')
  return escapeHtml(String(value))
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] as string)
