type Attributes = Record<string, string>

/** Larger ones make the page late for everybody. */
const maxDataLetters = 200_000
const dataImage = /^data:image\/(?:png|jpe?g|gif|webp|avif);base64,[a-z\d+/=]+$/i

/**
 * A picture that waits until it is looked at, tells nobody where it is shown, and has its place before it is there: by its width and
 * height, or in a box. Without an address it is to be left out.
 */
export function safeImage({ src, alt, width, height, class: styled, title }: Attributes, style: string): Attributes {
  const address = addressOf(src)
  const [w, h] = [size(width) ?? pixels(style, 'width'), size(height) ?? pixels(style, 'height')]
  const rest = { alt: alt ?? '', ...(title ? { title } : {}) }
  if (address === null || (w !== null && w <= 2) || (h !== null && h <= 2)) return rest
  const fixed = w !== null && h !== null
  const classes = [styled, fixed ? undefined : w !== null && w < 120 ? 'small' : 'boxed'].filter(Boolean).join(' ')
  return {
    src: address,
    ...rest,
    ...(w === null ? {} : { width: String(w) }),
    ...(h === null ? {} : { height: String(h) }),
    ...(classes ? { class: classes } : {}),
    loading: 'lazy',
    decoding: 'async',
    referrerpolicy: 'no-referrer',
  }
}

/** The page's policy shows what comes over TLS, and nothing else; most that has an http address has the same by https. */
function addressOf(src: string | undefined): string | null {
  const written = (src ?? '').trim()
  if (written.length <= maxDataLetters && dataImage.test(written)) return written
  const url = URL.parse(written.startsWith('//') ? `https:${written}` : written)
  if (!url || !/^https?:$/.test(url.protocol) || url.host === '') return null
  if (url.protocol === 'http:' && url.port === '') url.protocol = 'https:'
  return url.protocol === 'https:' ? url.href : null
}

const size = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,4}(?:px)?$/.test(text.trim()) ? Number.parseInt(text, 10) : null

const pixels = (style: string, property: string): number | null => {
  const found = new RegExp(`(?:^|;)${property}:(\\d{1,4})px(?:;|$)`).exec(style)
  return found ? Number(found[1]) : null
}
