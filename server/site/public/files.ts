import { listSitePosts, postPath, type SitePostHead } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { accentOn } from './colours.ts'
import { firstLetter, type Site, type SiteDocument } from './layout.ts'
import type { View } from './serve.ts'
import { formatCount } from './words.ts'
import { xml } from './xml.ts'

/** What the protocol allows in one file (https://www.sitemaps.org/protocol.html). */
const maxUrls = 50_000

export const sitemapView = ({ database }: Services): View<Pick<SitePostHead, 'id' | 'slug' | 'updated_at'>[]> => ({
  key: '/sitemap.xml',
  load: (subdomain) => listSitePosts(database, subdomain, maxUrls - 2),
  show: (site, posts) => ({
    headers: { 'content-type': 'application/xml; charset=utf-8' },
    body: xml`<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${site.url}/</loc></url>${site.show_posts ? xml`<url><loc>${site.url}/archive</loc></url>` : null}
${posts.map((post) => xml`<url><loc>${site.url}${postPath(post)}</loc><lastmod>${post.updated_at.toISOString()}</lastmod></url>\n`)}</urlset>
`.text,
  }),
})

const nothing = async () => null

/** Searches and forms are nobody's to index. */
export const robotsView: View<null> = {
  key: '/robots.txt',
  load: nothing,
  show: (site) => ({
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: `User-agent: *\nDisallow: ${site.base}/archive?\nDisallow: ${site.base}/join\nSitemap: ${site.url}/sitemap.xml\n`,
  }),
}

const picture = {
  'content-type': 'image/svg+xml; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
}

/** The first letter of the name on the site's colour. */
export const faviconView: View<null> = {
  key: '/favicon.svg',
  load: nothing,
  show: (site) => {
    const { accent, onAccent } = accentOn('light', site.accent_color)
    return {
      headers: picture,
      body: xml`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="${accent}"/><text x="32" y="33" fill="${onAccent}" font-family="Georgia,serif" font-size="38" font-weight="700" text-anchor="middle" dominant-baseline="central">${firstLetter(site.name)}</text></svg>`
        .text,
    }
  },
}

/** How many subscribe, for other pages to show; only while the list shows it. */
export const badgeView: View<null> = {
  key: '/badge.svg',
  load: nothing,
  show: (site) => (site.subscriber_count === null ? null : badge(site, site.subscriber_count)),
}

/** Half of the letters are narrower than this, and half are wider: `textLength` makes it come out even. */
const letterWidth = 6.6

function badge({ name, language, accent_color, words }: Site, count: number): SiteDocument {
  const { accent, onAccent } = accentOn('light', accent_color)
  const right = words.subscribers(formatCount(count, language), count === 1)
  const left = [...name].length > 30 ? `${[...name].slice(0, 29).join('')}…` : name
  const [a, b] = [left, right].map((text) => Math.round([...text].length * letterWidth)) as [number, number]
  const [leftWidth, rightWidth] = [a + 20, b + 20]
  const width = leftWidth + rightWidth
  return {
    headers: { ...picture, 'cross-origin-resource-policy': 'cross-origin' },
    body: xml`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="28" viewBox="0 0 ${width} 28" role="img" aria-label="${left}: ${right}"><title>${left}: ${right}</title><clipPath id="r"><rect width="${width}" height="28" rx="6"/></clipPath><g clip-path="url(#r)"><rect width="${leftWidth}" height="28" fill="#2b2930"/><rect x="${leftWidth}" width="${rightWidth}" height="28" fill="${accent}"/></g><g font-family="system-ui,Segoe UI,Roboto,sans-serif" font-size="12" font-weight="600" text-anchor="middle"><text x="${leftWidth / 2}" y="18" fill="#fff" textLength="${a}" lengthAdjust="spacingAndGlyphs">${left}</text><text x="${leftWidth + rightWidth / 2}" y="18" fill="${onAccent}" textLength="${b}" lengthAdjust="spacingAndGlyphs">${right}</text></g></svg>`
      .text,
  }
}
