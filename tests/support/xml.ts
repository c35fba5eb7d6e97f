import assert from 'node:assert/strict'

export interface Element {
  name: string
  attributes: Record<string, string>
  /** Of it and of all within. */
  text: string
  all(name: string): Element[]
  /** The only one of that name, directly within. */
  one(name: string): Element
}

/** Of what XML 1.0 allows, what feeds need; all else, and whatever is not well-formed, fails. */
const token = /<\?xml [^?]*\?>|<\/([\w:.-]+)\s*>|<([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/gy
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const notOfXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/

export function readXml(source: string): Element {
  assert.doesNotMatch(source, notOfXml)
  assert.ok(source.isWellFormed())
  const root = newElement('')
  const open = [root]
  let at = 0
  for (const match of source.matchAll(token)) {
    at = match.index + match[0].length
    const [, closing, opening, attributes = '', isEmpty, text] = match
    const inside = open.at(-1) as Building
    if (closing !== undefined) assert.equal((open.pop() as Building).name, closing)
    else if (text !== undefined) for (const one of open) one.text += decode(text)
    else if (opening !== undefined) {
      const element = newElement(opening)
      for (const [, name = '', double, single] of attributes.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)) {
        assert.ok(!(name in element.attributes), `${name} twice`)
        element.attributes[name] = decode(double ?? single ?? '')
      }
      inside.children.push(element)
      if (!isEmpty) open.push(element)
    }
  }
  assert.equal(at, source.length, `not well-formed at: ${source.slice(at, at + 80)}`)
  assert.equal(open.length, 1, 'something is not closed')
  assert.equal(root.children.length, 1, 'one root')
  return root.children[0] as Building
}

interface Building extends Element {
  children: Building[]
}

function newElement(name: string): Building {
  const children: Building[] = []
  const all = (wanted: string) => children.filter((child) => child.name === wanted)
  return {
    name,
    attributes: {},
    text: '',
    children,
    all,
    one(wanted) {
      const found = all(wanted)
      assert.equal(found.length, 1, `${found.length} × ${wanted} in ${name}`)
      return found[0] as Building
    },
  }
}

function decode(text: string): string {
  assert.doesNotMatch(text, /&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-f]+);)/i)
  return text.replace(/&(?:(\w+)|#(\d+)|#x([\da-f]+));/gi, (_, name, decimal, hexadecimal) =>
    name ? (entities[name] as string) : String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16)),
  )
}
