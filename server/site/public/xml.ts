/** What XML 1.0 can hold: a letter outside of these makes the whole document unreadable (section 2.2). */
const forbidden = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu

/** XML in tagged templates: every value is escaped unless it is itself XML made here. */
export class Xml {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Value = Xml | Xml[] | string | number | null

export function xml(strings: TemplateStringsArray, ...values: Value[]): Xml {
  let text = strings[0] as string
  values.forEach((value, index) => {
    text += render(value) + strings[index + 1]
  })
  return new Xml(text)
}

function render(value: Value): string {
  if (value === null) return ''
  if (value instanceof Xml) return value.text
  if (Array.isArray(value)) return value.map((part) => part.text).join('')
  return escapeXml(String(value))
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }
const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    .replace(forbidden, '')
    .replace(/[&<>"']/g, (character) => entities[character] as string)
