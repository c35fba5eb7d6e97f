import sanitize from 'sanitize-html'
import { safeImage } from './page-image.ts'
import { isColoured, isHidden, pageStyle } from './page-style.ts'

/** An author's HTML, made safe to be a part of a page of ours. */
export interface SafePage {
  html: string
  /** What `style` attributes said, by the class that stands in their place: the page's policy lets no attribute style anything. */
  styles: string[]
  /** The author chose colours. They were chosen for white paper. */
  is_coloured: boolean
  /** Its first picture, for whoever shows a preview. */
  image: string | null
}

/** Deeper than this, tags are left out and their words stay. */
const maxNesting = 100
/** Past this many different styles, the rest have none. */
const maxStyles = 500

const allowedTags =
  `a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del details dfn div dl dt em
  figcaption figure font footer h2 h3 h4 h5 h6 header hr i img ins kbd li mark ol p pre q s samp section small span strike strong sub
  summary sup table tbody td tfoot th thead time tr tt u ul var wbr`.split(/\s+/)

/** With their whole content; all other tags that are not allowed leave their words behind. */
const leftOutWhole =
  'script style textarea option noscript template title iframe frameset object embed applet svg math xml audio video canvas select button xmp noembed noframes plaintext'.split(
    ' ',
  )

const allowedAttributes: sanitize.IOptions['allowedAttributes'] = {
  '*': ['class', 'id', 'align', 'valign', 'bgcolor', 'dir', 'lang', 'title'],
  a: ['href', 'rel'],
  img: ['src', 'alt', 'width', 'height', 'loading', 'decoding', 'referrerpolicy'],
  table: ['border', 'cellpadding', 'cellspacing', 'width', 'role'],
  td: ['colspan', 'rowspan', 'nowrap', 'width'],
  th: ['colspan', 'rowspan', 'nowrap', 'width', 'scope'],
  col: ['span', 'width'],
  colgroup: ['span', 'width'],
  font: ['color', 'size'],
  ol: ['start', 'type', 'reversed'],
  ul: ['type'],
  li: ['value'],
  time: ['datetime'],
  details: ['open'],
}

/** One heading of the first rank is on the page already: its title. */
const renamed: Record<string, string> = { h1: 'h2', main: 'div', nav: 'div' }

/**
 * No script, frame, form or style sheet, nothing that loads but pictures, nothing that leaves its place or takes another's name. It is a
 * second wall: the page is shown under a policy that forbids the same.
 */
export function sanitisePage(html: string): SafePage {
  const classes = new Map<string, string>()
  const page: SafePage = { html: '', styles: [], is_coloured: false, image: null }
  const hidden = new Set<string>()
  const classOf = (style: string): string | undefined => {
    if (!classes.has(style) && classes.size < maxStyles) classes.set(style, `s${classes.size}`)
    const name = classes.get(style)
    if (name !== undefined && isHidden(style)) hidden.add(name)
    return name
  }
  page.html = sanitize(html, {
    allowedTags,
    allowedAttributes,
    nonTextTags: leftOutWhole,
    nestingLimit: maxNesting,
    allowedSchemes: ['http', 'https', 'mailto', 'tel'],
    allowedSchemesByTag: { img: ['https', 'data'] },
    allowProtocolRelative: false,
    disallowedTagsMode: 'discard',
    enforceHtmlBoundary: false,
    parseStyleAttributes: false,
    // A picture that leads nowhere, or that nobody sees, is none. What is hidden goes whole: feeds, searches and previews know of no styles.
    exclusiveFilter: ({ tag, attribs }) =>
      (tag === 'img' && attribs.src === undefined) || hidden.has((attribs.class ?? '').split(' ')[0] as string),
    transformTags: {
      '*': (written, { style, class: _, id, name, ...rest }) => {
        const safe = style === undefined ? '' : pageStyle(style)
        // A page has one body already; what a second one looks like is kept.
        const isStyledBody = written === 'body' && (safe !== '' || rest.bgcolor !== undefined)
        const tagName = isStyledBody ? 'div' : (renamed[written] ?? written)
        const marked = classOfStyle(safe, classOf)
        const named = tagName === 'img' ? undefined : ownName(id ?? (written === 'a' ? name : undefined))
        const attribs: sanitize.Attributes = { ...moderate(rest), ...(marked ? { class: marked } : {}), ...(named ? { id: named } : {}) }
        if (isColoured(safe) || attribs.bgcolor !== undefined || (tagName === 'font' && attribs.color)) page.is_coloured = true
        if (tagName === 'a') return { tagName, attribs: linkOf(attribs) }
        if (tagName !== 'img') return { tagName, attribs }
        return { tagName, attribs: safeImage(attribs, safe) }
      },
    },
  })
  page.html = page.html.trim()
  page.image = /<img src="(https:[^"]*)"/.exec(page.html)?.[1]?.replaceAll('&amp;', '&') ?? null
  page.styles = [...classes].filter(([, name]) => !hidden.has(name)).map(([style, name]) => `.${name}{${style}}`)
  return page
}

const sizes: Record<string, RegExp> = {
  border: /^\d{1,2}$/,
  cellpadding: /^\d{1,2}$/,
  cellspacing: /^\d{1,2}$/,
  colspan: /^\d{1,3}$/,
  rowspan: /^\d{1,3}$/,
  span: /^\d{1,3}$/,
  width: /^\d{1,4}(?:px)?$|^\d{1,3}%$/,
}

/** Without sizes that make a page of a post's length miles long. */
const moderate = (attributes: sanitize.Attributes): sanitize.Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([name, written]) => sizes[name]?.test(written.trim()) ?? true))

const classOfStyle = (style: string, classOf: (style: string) => string | undefined) => (style === '' ? undefined : classOf(style))

/** Names of the author's stay apart from the page's own; links to them follow. */
const ownName = (name: string | undefined): string | undefined =>
  name !== undefined && /^[\w.:-]{1,80}$/.test(name) ? `p-${name}` : undefined

/** Only addresses that say where they lead, and places in the post itself: a relative one would lead into our own pages. */
function linkOf({ href, target: _, rel: __, ...attribs }: sanitize.Attributes): sanitize.Attributes {
  const written = (href ?? '').trim()
  const place = /^#([\w.:-]{1,80})$/.exec(written)?.[1]
  if (place) return { ...attribs, href: `#p-${place}` }
  const url = URL.parse(written.startsWith('//') ? `https:${written}` : written)
  if (!url || !/^(?:https?|mailto|tel):$/.test(url.protocol) || (/^https?:$/.test(url.protocol) && url.host === '')) return attribs
  // A name and a password in an address make it look like another.
  url.username = ''
  url.password = ''
  return { ...attribs, href: url.href, rel: 'noopener' }
}
