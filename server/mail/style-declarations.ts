const maxLetters = 4_000

interface Allowed {
  properties: ReadonlySet<string>
  /** Shorthands of which only another property is wanted. */
  renamed: Readonly<Record<string, string>>
  /** The value as it may stand; null when it may not. */
  clean(property: string, text: string): string | null
}

/** The declarations of a style attribute that are allowed, in their order. */
export const styleDeclarations = (style: string, { properties, renamed, clean }: Allowed): string =>
  style
    .slice(0, maxLetters)
    .split(';')
    .flatMap((declaration) => {
      const colon = declaration.indexOf(':')
      const name = declaration.slice(0, Math.max(colon, 0)).trim().toLowerCase()
      const property = renamed[name] ?? name
      const text = properties.has(property) ? clean(property, declaration.slice(colon + 1).trim()) : null
      return text === null ? [] : [`${property}:${text}`]
    })
    .join(';')
