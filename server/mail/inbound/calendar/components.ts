/** The lines of RFC 5545 as a tree: components with properties. What the properties mean is not known here. */
export interface Component {
  /** In capitals, as are the names of properties and parameters. */
  name: string
  properties: Property[]
  children: Component[]
}

export interface Property {
  name: string
  params: Map<string, string>
  /** As written: escapes and lists are for whoever knows its type. */
  value: string
}

const maxDepth = 10
const maxLines = 20_000

/** Null when there are more lines than anybody's calendar has. Lines that make no sense are passed over. */
export function readComponents(text: string): Component | null {
  const lines = unfold(text)
  if (lines.length > maxLines) return null
  const root: Component = { name: '', properties: [], children: [] }
  const open = [root]
  for (const line of lines) {
    const property = readLine(line)
    if (!property) continue
    const innermost = open.at(-1) ?? root
    if (property.name === 'BEGIN') {
      if (open.length > maxDepth) return null
      const child = { name: property.value.trim().toUpperCase(), properties: [], children: [] }
      innermost.children.push(child)
      open.push(child)
    } else if (property.name === 'END') close(open, property.value.trim().toUpperCase())
    else innermost.properties.push(property)
  }
  return root
}

/** An end without a beginning ends nothing; one that was forgotten inside ends with what is around it. */
function close(open: Component[], name: string): void {
  const index = open.findLastIndex((component) => component.name === name)
  if (index > 0) open.length = index
}

/** RFC 5545 section 3.1: a line that begins with a space or a tab goes on with the one before. */
function unfold(text: string): string[] {
  const parts: string[][] = []
  for (const line of text.split(/\r\n|\n|\r/)) {
    const last = parts.at(-1)
    if (last && (line.startsWith(' ') || line.startsWith('\t'))) last.push(line.slice(1))
    else if (line !== '') parts.push([line])
  }
  return parts.map((part) => part.join(''))
}

/** `NAME;PARAM=value;OTHER="quoted; value":the rest`. A colon or semicolon inside quotes separates nothing. */
function readLine(line: string): Property | null {
  const pieces: string[] = []
  let isQuoted = false
  let from = 0
  for (let at = 0; at < line.length; at++) {
    const letter = line[at]
    if (letter === '"') isQuoted = !isQuoted
    if (isQuoted || (letter !== ';' && letter !== ':')) continue
    pieces.push(line.slice(from, at))
    from = at + 1
    if (letter === ':') return toProperty(pieces, line.slice(from))
  }
  return null
}

function toProperty([name = '', ...written]: string[], value: string): Property | null {
  if (!/^[A-Za-z0-9-]+$/.test(name)) return null
  const params = new Map<string, string>()
  for (const param of written) {
    const equals = param.indexOf('=')
    if (equals > 0) params.set(param.slice(0, equals).trim().toUpperCase(), unquote(param.slice(equals + 1)))
  }
  return { name: name.toUpperCase(), params, value }
}

const circumflexed: Record<string, string> = { '^n': '\n', "^'": '"', '^^': '^' }

/** RFC 6868: quotes and line ends are written with a circumflex. */
const unquote = (value: string): string => value.replaceAll('"', '').replace(/\^[n'^]/g, (found) => circumflexed[found] as string)

/** RFC 5545 section 3.3.11. */
export const unescapeText = (value: string): string => value.replace(/\\([\\;,nN])/g, (_, letter) => (/n/i.test(letter) ? '\n' : letter))

export const firstProperty = (component: Component, name: string): Property | null =>
  component.properties.find((property) => property.name === name) ?? null

export const childrenOf = (component: Component, name: string): Component[] => component.children.filter((child) => child.name === name)
