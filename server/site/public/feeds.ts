import type { PostPage } from '../../features/sites/index.ts'
import { newestSitePosts, postPath, type RenderPost, type SitePostRow, titleOf } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import type { Site, SiteDocument } from './layout.ts'
import type { View } from './serve.ts'
import { type Xml, xml } from './xml.ts'

const newest = 20
/** A feed is fetched whole, again and again: past this, posts tell how they begin. */
const maxLetters = 1_500_000

interface Entry {
  post: SitePostRow
  title: string
  url: string
  summary: string
  /** The whole post; null when there is no room, or when it cannot be shown. */
  content: string | null
}

type Format = (site: Site, entries: Entry[], updated: Date) => SiteDocument

/** The newest posts, whole, as programs read them. */
export const feedView = ({ database }: Services, render: RenderPost, path: keyof typeof formats): View<SitePostRow[]> => ({
  key: path,
  load: (subdomain) => newestSitePosts(database, subdomain, newest),
  async show(site, posts) {
    if (!site.show_posts) return null
    const entries: Entry[] = []
    let letters = 0
    for (const post of posts) {
      const content = letters > maxLetters ? null : contentOf(await render(post, site))
      letters += content?.length ?? 0
      entries.push({ post, title: titleOf(post, site), url: `${site.url}${postPath(post)}`, summary: post.site_excerpt ?? '', content })
    }
    const updated = new Date(Math.max(0, ...posts.map(({ updated_at }) => updated_at.getTime())))
    return formats[path](site, entries, updated)
  },
})

/** Classes mean nothing elsewhere. What looks like one in the text is the author's: there, `<` is an entity. */
const contentOf = (page: PostPage | null): string | null =>
  page?.html.replace(/<[^<>]*>/g, (tag) => tag.replace(/ class="[^"]*"/, '')) ?? null

/** Stays when the site gets another address (RFC 4287 section 4.2.6): a reader that knew a post by its address would show all of them as new. */
const idOf = (uuid: string): string => `urn:uuid:${uuid}`

/** RSS 2.0 with the whole content in content:encoded (https://www.rssboard.org/rss-profile). */
const rss: Format = (site, entries, updated) => ({
  headers: feedHeaders('application/rss+xml'),
  body: xml`<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:content="http://purl.org/rss/1.0/modules/content/">
<channel><title>${site.name}</title><link>${site.url}/</link><description>${site.description || site.name}</description><language>${site.language}</language>
<atom:link rel="self" type="application/rss+xml" href="${site.url}/feed.xml"/>${entries.length > 0 ? xml`<lastBuildDate>${updated.toUTCString()}</lastBuildDate>` : null}${site.logo_url ? xml`<image><url>${site.logo_url}</url><title>${site.name}</title><link>${site.url}/</link></image>` : null}
${entries.map(rssItem)}</channel></rss>
`.text,
})

const rssItem = ({ post, title, url, summary, content }: Entry): Xml =>
  xml`<item><title>${title}</title><link>${url}</link><guid isPermaLink="false">${idOf(post.id)}</guid><pubDate>${post.at.toUTCString()}</pubDate>${summary ? xml`<description>${summary}</description>` : null}${content === null ? null : xml`<content:encoded>${content}</content:encoded>`}</item>
`

/** RFC 4287. */
const atom: Format = (site, entries, updated) => ({
  headers: feedHeaders('application/atom+xml'),
  body: xml`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="${site.language}"><title>${site.name}</title>${site.description ? xml`<subtitle>${site.description}</subtitle>` : null}<id>${idOf(site.list_id)}</id><updated>${updated.toISOString()}</updated><author><name>${site.name}</name></author><link rel="alternate" type="text/html" href="${site.url}/"/><link rel="self" type="application/atom+xml" href="${site.url}/atom.xml"/>${site.logo_url ? xml`<logo>${site.logo_url}</logo>` : null}
${entries.map(atomEntry)}</feed>
`.text,
})

const atomEntry = ({ post, title, url, summary, content }: Entry): Xml =>
  xml`<entry><title>${title}</title><id>${idOf(post.id)}</id><published>${post.at.toISOString()}</published><updated>${post.updated_at.toISOString()}</updated><link rel="alternate" type="text/html" href="${url}"/>${summary || content === null ? xml`<summary>${summary}</summary>` : null}${content === null ? null : xml`<content type="html">${content}</content>`}</entry>
`

/** https://www.jsonfeed.org/version/1.1/ */
const json: Format = (site, entries) => ({
  headers: feedHeaders('application/feed+json'),
  body: JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: site.name,
    home_page_url: `${site.url}/`,
    feed_url: `${site.url}/feed.json`,
    ...(site.description ? { description: site.description } : {}),
    ...(site.logo_url ? { icon: site.logo_url } : {}),
    language: site.language,
    authors: [{ name: site.name, url: `${site.url}/` }],
    items: entries.map(({ post, title, url, summary, content }) => ({
      id: idOf(post.id),
      url,
      title,
      ...(content === null ? { content_text: summary } : { content_html: content }),
      ...(summary ? { summary } : {}),
      date_published: post.at.toISOString(),
      date_modified: post.updated_at.toISOString(),
    })),
  }),
})

const feedHeaders = (type: string) => ({
  'content-type': `${type}; charset=utf-8`,
  // A page elsewhere may show it: it is there for everybody.
  'access-control-allow-origin': '*',
  'content-security-policy': "default-src 'none'",
})

const formats = { '/feed.xml': rss, '/atom.xml': atom, '/feed.json': json }
