import { styleDeclarations } from '../style-declarations.ts'

/** What a style may say: letters, colours, sizes and borders. Nothing that loads, covers the page or leaves its place. */
const properties = new Set(
  `background-color border border-bottom border-bottom-color border-bottom-style border-bottom-width border-collapse border-color
   border-left border-left-color border-left-style border-left-width border-radius border-right border-right-color border-right-style
   border-right-width border-spacing border-style border-top border-top-color border-top-style border-top-width border-width box-sizing
   color direction display font font-family font-size font-style font-variant font-weight height letter-spacing line-height list-style
   list-style-type margin margin-bottom margin-left margin-right margin-top max-height max-width min-height min-width padding
   padding-bottom padding-left padding-right padding-top table-layout text-align text-decoration text-indent text-transform
   unicode-bidi vertical-align white-space width word-break word-spacing word-wrap overflow-wrap`
    .split(/\s+/)
    .filter(Boolean),
)

/** Shorthands whose colour is all that is wanted of them. */
const renamed: Record<string, string> = { background: 'background-color' }

/** No function but those of colours, no escape that could spell one, no comment, nothing of other rules. */
const value = /^(?:[\w\s.,%#+'"-]|(?:rgba?|hsla?)\([\d\s.,%/deg-]*\)|!\s?important)+$/i

/** The declarations of a style attribute that are harmless. */
export const sanitiseStyle = (style: string): string =>
  styleDeclarations(style, { properties, renamed, clean: (_, text) => (text.length <= 200 && value.test(text) ? text : null) })
