import sanitize from 'sanitize-html'
import { html as escaped } from '../../base/html.ts'
import { textOfHtml } from '../reports/html-text.ts'
import { sanitiseStyle } from './sanitise-style.ts'

export interface DisplayOptions {
  /**
   * Where a part that the message carries is found (`<img src="cid:…">`, without the `cid:`); null for what it does not carry. The id is
   * the sender's: no part of it belongs into the link. What is no web address and no path from our root is left out.
   */
  linkOfContentId(contentId: string): string | null
  /**
   * Images elsewhere tell their senders who reads when. `block` takes their address out of `src` and into `data-remote-src`, for a
   * button that shows them; `show` keeps them, marked with `data-remote`.
   */
  remoteImages?: 'show' | 'block'
}

/** Deeper than this, tags are left out and their words stay. */
const maxNesting = 100
/** Deeper than this no person nests, and what the parser does for each tag grows with the tags around it: only the words are kept. */
const maxParsedNesting = 300
const maxLetters = 4_000_000

const allowedTags =
  `a abbr address article aside b bdi bdo big blockquote body br caption center cite code col colgroup dd del details dfn div dl dt em
  figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q s samp section small span strike strong sub
  summary sup table tbody td tfoot th thead time tr tt u ul var wbr`.split(/\s+/)

/** With their whole content; all other tags that are not allowed leave their words behind. */
const leftOutWhole =
  'script style textarea option noscript template title iframe frameset object embed applet svg math xml audio video canvas select xmp noembed noframes plaintext'.split(
    ' ',
  )

const layout = ['style', 'align', 'valign', 'width', 'height', 'bgcolor', 'dir', 'lang', 'title']
const allowedAttributes: sanitize.IOptions['allowedAttributes'] = {
  '*': layout,
  a: ['href', 'target', 'rel'],
  img: ['src', 'alt', 'border', 'data-remote', 'data-remote-src', 'referrerpolicy', 'loading'],
  table: ['border', 'cellpadding', 'cellspacing', 'role'],
  td: ['colspan', 'rowspan', 'nowrap'],
  th: ['colspan', 'rowspan', 'nowrap', 'scope'],
  col: ['span'],
  colgroup: ['span'],
  font: ['color', 'face', 'size'],
  ol: ['start', 'type'],
  ul: ['type'],
  li: ['value'],
  time: ['datetime'],
}

/**
 * A stranger's HTML, made safe to show inside a page of ours: no script, frame, form or style sheet, nothing that loads by itself but
 * images, and links that open elsewhere without a trace. It is a second wall: the page shows it under a policy that forbids the same.
 */
export function sanitiseHtml(html: string, options: DisplayOptions): string {
  const shown = html.slice(0, maxLetters)
  try {
    return sanitise(shown, options)
  } catch (error) {
    if (!(error instanceof NestedTooDeep)) throw error
    return escaped`<div style="white-space:pre-wrap">${textOfHtml(shown)}</div>`.text
  }
}

class NestedTooDeep extends Error {}

function sanitise(html: string, { linkOfContentId, remoteImages = 'block' }: DisplayOptions): string {
  let depth = 0
  return sanitize(html, {
    allowedTags,
    allowedAttributes,
    nonTextTags: leftOutWhole,
    nestingLimit: maxNesting,
    allowedSchemes: ['http', 'https', 'mailto', 'tel'],
    // Links of the message's own parts come from us, relative ones from nobody.
    allowedSchemesByTag: { img: ['http', 'https', 'data'] },
    allowProtocolRelative: false,
    allowedSchemesAppliedToAttributes: ['href', 'src', 'data-remote-src'],
    disallowedTagsMode: 'discard',
    enforceHtmlBoundary: false,
    parseStyleAttributes: false,
    onOpenTag: () => {
      if (++depth > maxParsedNesting) throw new NestedTooDeep()
    },
    onCloseTag: () => {
      depth--
    },
    transformTags: {
      '*': (tagName, attribs) => ({ tagName, attribs: withSafeStyle(attribs) }),
      // A page has one body already; its colours are kept.
      body: (_, attribs) => ({ tagName: 'div', attribs: withSafeStyle(attribs) }),
      a: (_, attribs) => ({ tagName: 'a', attribs: linkOf(withSafeStyle(attribs)) }),
      img: (_, attribs) => ({ tagName: 'img', attribs: imageOf(withSafeStyle(attribs), { linkOfContentId, remoteImages }) }),
    },
  })
}

function withSafeStyle({ style, ...attribs }: sanitize.Attributes): sanitize.Attributes {
  const safe = style === undefined ? '' : sanitiseStyle(style)
  return safe === '' ? attribs : { ...attribs, style: safe }
}

/** Only addresses that say where they lead: a relative one would lead into our own pages. */
function linkOf({ href, target: _, rel: __, ...attribs }: sanitize.Attributes): sanitize.Attributes {
  const address = href === undefined ? null : absolute(href, /^(?:https?|mailto|tel):$/)
  return address === null ? attribs : { ...attribs, href: address, target: '_blank', rel: 'noopener noreferrer nofollow' }
}

function imageOf(
  { src, srcset: _, 'data-remote': __, 'data-remote-src': ___, referrerpolicy: ____, loading: _____, ...attribs }: sanitize.Attributes,
  { linkOfContentId, remoteImages }: Required<DisplayOptions>,
): sanitize.Attributes {
  const written = (src ?? '').trim()
  if (/^cid:/i.test(written)) {
    const link = linkOfContentId(decoded(written.slice(4)))
    return link !== null && isOwnLink(link) ? { ...attribs, src: link } : attribs
  }
  if (/^data:image\/(?:png|jpe?g|gif|webp);base64,[a-z\d+/=\s]*$/i.test(written)) return { ...attribs, src: written }
  const address = absolute(written, /^https?:$/)
  if (address === null) return attribs
  return remoteImages === 'block'
    ? { ...attribs, 'data-remote-src': address }
    : { ...attribs, src: address, 'data-remote': 'yes', referrerpolicy: 'no-referrer', loading: 'lazy' }
}

const isOwnLink = (link: string): boolean => /^https?:\/\/\S+$/.test(link) || /^\/(?![/\\])\S*$/.test(link)

/** As a browser would understand it, which passes over blanks and control characters. */
function absolute(text: string, protocols: RegExp): string | null {
  const written = text.trim()
  const url = URL.parse(written.startsWith('//') ? `https:${written}` : written)
  return url && protocols.test(url.protocol) && (url.host !== '' || !/^https?:$/.test(url.protocol)) ? url.href : null
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that is only that.
    return text
  }
}
