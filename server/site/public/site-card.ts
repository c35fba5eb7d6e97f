import { Html, html } from '../../base/html.ts'
import type { Site } from './layout.ts'

interface Card {
  title: string
  description: string | null
  path: string
  type: 'website' | 'article'
  image?: string | null
  published?: Date
  updated?: Date
}

const described = 300

/** What messengers, networks and search engines show of a page: OpenGraph, and for an article JSON-LD of schema.org. */
export function siteCard(site: Site, { title, description, path, type, image, published, updated }: Card): Html {
  const about = (description ?? '').replace(/\s+/g, ' ').trim().slice(0, described)
  const picture = image ?? site.logo_url
  const times =
    published && updated
      ? html`<meta property="article:published_time" content="${published.toISOString()}"><meta property="article:modified_time" content="${updated.toISOString()}">`
      : null
  return html`${about ? html`<meta name="description" content="${about}"><meta property="og:description" content="${about}">` : null}<meta property="og:type" content="${type}"><meta property="og:title" content="${title}"><meta property="og:url" content="${site.url}${path}"><meta property="og:site_name" content="${site.name}">${localeOf(site)}${picture ? html`<meta property="og:image" content="${picture}">` : null}<meta name="twitter:card" content="${image ? 'summary_large_image' : 'summary'}">${times}${published ? linkedData({ site, title, about, path, picture, published, updated: updated ?? published }) : null}`
}

/** A language alone is none: networks ask for one with its country. */
const localeOf = ({ language }: Site): Html | null =>
  /^[a-z]{2,3}-[A-Z]{2}$/.test(language) ? html`<meta property="og:locale" content="${language.replace('-', '_')}">` : null

interface Article {
  site: Site
  title: string
  about: string
  path: string
  picture: string | null
  published: Date
  updated: Date
}

/** A data block: nothing of it runs. No `<` can be in it, so that nothing ends it early. */
function linkedData({ site, title, about, path, picture, published, updated }: Article): Html {
  const publisher = {
    '@type': 'Organization',
    name: site.name,
    url: `${site.url}/`,
    ...(site.logo_url ? { logo: { '@type': 'ImageObject', url: site.logo_url } } : {}),
  }
  const data = {
    '@context': 'https://schema.org',
    '@type': 'Article',
    headline: title.slice(0, 110),
    ...(about ? { description: about } : {}),
    ...(picture ? { image: [picture] } : {}),
    datePublished: published.toISOString(),
    dateModified: updated.toISOString(),
    inLanguage: site.language,
    url: `${site.url}${path}`,
    mainEntityOfPage: `${site.url}${path}`,
    author: publisher,
    publisher,
  }
  return new Html(`<script type="application/ld+json">${JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, escaped)}</script>`)
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
