import { styleDeclarations } from '../style-declarations.ts'

/** What a style on the site may say: letters, colours, sizes and borders. Nothing that loads, covers the page or leaves its place. */
const properties = new Set(
  `background-color border border-bottom border-bottom-color border-bottom-style border-bottom-width border-collapse border-color
   border-left border-left-color border-left-style border-left-width border-radius border-right border-right-color border-right-style
   border-right-width border-spacing border-style border-top border-top-color border-top-style border-top-width border-width
   color direction display font-family font-size font-style font-variant font-weight height letter-spacing line-height
   list-style-type margin margin-bottom margin-left margin-right margin-top max-width min-width padding
   padding-bottom padding-left padding-right padding-top table-layout text-align text-decoration text-indent text-transform
   vertical-align white-space width word-break word-spacing overflow-wrap`
    .split(/\s+/)
    .filter(Boolean),
)

/** Shorthands whose colour is all that is wanted of them. */
const renamed: Record<string, string> = { background: 'background-color', 'word-wrap': 'overflow-wrap' }

/** No function but those of colours, no escape that could spell one, no comment, no brace, nothing of other rules; no line end, which a quote cannot have. */
const value = /^(?:[\w .,%#'"-]|(?:rgba?|hsla?)\([\d .,%/deg-]*\))+$/i
const displays = /^(?:none|block|inline|inline-block|table|table-row|table-cell|list-item)$/i
/** Longer than any screen, in whatever unit or notation, or to the left of the page. */
const immoderate = /(?:^|[ ,])(?:\d{4,}|\d*\.?\d+e-?\d|-[\d.]|(?!100v[wh](?:[ ,]|$))\d{3,}(?:\.\d+)?(?!px|pt|%|mm)[a-z])/i
const huge = /(?:^|[ ,])(?:[1-9]\d{2,}px|[1-9]\d{2,}pt|(?:[6-9]|\d{2,})(?:\.\d+)?r?em|\d{3,}vw)/i

/** The declarations of a style attribute that are harmless. Nothing is important: the page's own rules are. */
export const pageStyle = (style: string): string =>
  styleDeclarations(style, {
    properties,
    renamed,
    clean(property, written) {
      const text = written
        .replace(/!\s*important\s*$/i, '')
        .replace(/\s+/g, ' ')
        .trim()
      return isHarmless(property, text) ? text : null
    },
  })

function isHarmless(property: string, text: string): boolean {
  if (text === '' || text.length > 200 || !value.test(text) || !isQuotedEvenly(text) || immoderate.test(text)) return false
  if (property === 'display') return displays.test(text)
  if (property === 'line-height') return !/^\d{2,}(?:\.\d*)?$/.test(text)
  return property !== 'font-size' || !huge.test(text)
}

/** A quote left open would take the rest of the sheet with it. */
const isQuotedEvenly = (text: string): boolean => /^(?:[^'"]|'[^'"]*'|"[^'"]*")*$/.test(text)

export const isHidden = (style: string): boolean => /(?:^|;)display:none(?:;|$)/i.test(style)

export const isColoured = (style: string): boolean => /(?:^|;)(?:color|background-color):/.test(style)
