import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ByteCache } from '../../base/byte-cache.ts'
import type { PostKey } from '../../features/posts/index.ts'
import { canonicalUrl, findSite, type SiteRow } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { baseOf } from './hosts.ts'
import { type Site, type SiteDocument, siteFor } from './layout.ts'
import { sendNoSite, sendNotFound } from './not-found.ts'
import { RecentSites } from './recent-sites.ts'

/** What answers at one address of a site. */
export interface View<Data> {
  /** Names it among the pages of its site; null where keeping it is not worth the room. */
  key: string | null
  /** What the database knows of it; asked together with the site itself. */
  load(subdomain: string): Promise<Data>
  /** Null: there is no such page. */
  show(site: Site, data: Data): Promise<SiteDocument | null> | SiteDocument | null
  /** Somebody has been shown it. */
  seen?(post: PostKey): void
}

interface KeptPage extends Pick<SiteDocument, 'headers' | 'post'> {
  status: number
  version: string
  madeAt: number
  etag: string
  body: Buffer
  /** Made when somebody first asks for it so. */
  br?: Promise<Buffer>
  gzip?: Promise<Buffer>
}

export interface SiteVisit {
  Params: { subdomain: string }
}

const maxBytes = 48 * 1024 * 1024
/** A change that was committed out of order may not show in the version: no page is trusted for longer. */
const trustedForMs = 60_000
const earlyTrustedForMs = 1_000
/** A form says when it was made. Whoever comes back after a while gets a new one, though nothing else has changed. */
const formsLiveMs = 6 * 3_600_000
/** What was taken off a site is shown to nobody a minute later. */
const cacheControl = 'public, max-age=60'
const compressible = 1_000
const isName = /^[a-z\d-]{1,63}$/

/** Pages are made once for each version of their site and kept as bytes; whoever has one is told that it is still good. */
export function createSitePages(services: Pick<Services, 'database' | 'config' | 'clock'>) {
  const { database, config, clock } = services
  const pages = new ByteCache<KeptPage>(maxBytes)
  const making = new Map<string, Promise<KeptPage | null>>()
  const sites = new RecentSites((subdomain) => findSite(database, subdomain))

  const make = async <Data>(site: Site, view: View<Data>, early: Data | undefined): Promise<KeptPage | null> => {
    const shown = await view.show(site, early === undefined ? await view.load(site.subdomain) : early)
    const page = shown && keep(site, shown, clock.now())
    // What was asked together with the site may be older than the site's version says: it is made once more soon.
    if (page && early !== undefined) page.madeAt -= trustedForMs - earlyTrustedForMs
    return page
  }
  /** Those who ask for a page while it is being made wait for it together. */
  const makeOnce = <Data>(site: Site, view: View<Data>, { key, early }: { key: string | null; early: Data | undefined }) => {
    if (key === null) return make(site, view, early)
    const turn = `${key} ${site.version}`
    const made =
      making.get(turn) ??
      make(site, view, early)
        .then((page) => {
          if (page) pages.put(key, page, 3 * page.body.length + 1_000)
          return page
        })
        .finally(() => making.delete(turn))
    making.set(turn, made)
    return made
  }

  const isGood = ({ version, madeAt }: KeptPage, row: SiteRow): boolean =>
    version === row.version && clock.now().getTime() - madeAt < trustedForMs
  const find = async <Data>(request: FastifyRequest, reply: FastifyReply, { view, key, kept }: Wanted<Data>): Promise<FastifyReply> => {
    const { subdomain } = request.params as SiteVisit['Params']
    if (!isName.test(subdomain)) return sendNoSite(reply)
    const [row, early] = await Promise.all([sites.find(subdomain), kept ? undefined : view.load(subdomain)])
    if (!row) return sendNoSite(reply)
    const site = siteFor(request, row, canonicalUrl(config, row))
    const page = kept && isGood(kept, row) ? kept : await makeOnce(site, view, { key, early })
    return page ? show(request, reply, { view, page }) : sendNotFound(reply, site)
  }

  return {
    /** Answers at once where nothing has to be asked: most pages are looked at far more often than they change. */
    serve<Data>(request: FastifyRequest, reply: FastifyReply, view: View<Data>): FastifyReply | Promise<FastifyReply> {
      const { subdomain } = request.params as SiteVisit['Params']
      const key = view.key === null ? null : `${baseOf(request, subdomain)} ${subdomain} ${view.key}`
      const kept = key === null ? undefined : pages.get(key)
      const row = kept && sites.known(subdomain)
      return row && isGood(kept, row) ? show(request, reply, { view, page: kept }) : find(request, reply, { view, key, kept })
    },
  }
}

export type SitePages = ReturnType<typeof createSitePages>

function keep({ version }: Site, { status = 200, body, headers, post }: SiteDocument, now: Date): KeptPage {
  const unstamped = body.replace(/ name="shown" value="[^"]*"/g, '')
  const age = unstamped.length === body.length ? 0 : Math.floor(now.getTime() / formsLiveMs)
  const hash = createHash('sha256')
    .update(`${age} ${JSON.stringify(headers)}`)
    .update(unstamped)
    .digest('base64url')
    .slice(0, 22)
  return {
    status,
    version,
    madeAt: now.getTime(),
    headers: { 'cache-control': cacheControl, vary: 'accept-encoding', ...headers },
    etag: `W/"${hash}"`,
    body: Buffer.from(body),
    ...(post ? { post } : {}),
  }
}

interface Wanted<Data> {
  view: View<Data>
  key: string | null
  kept: KeptPage | undefined
}

function show<Data>(request: FastifyRequest, reply: FastifyReply, { view, page }: { view: View<Data>; page: KeptPage }) {
  if (page.post) view.seen?.(page.post)
  return sendKept(request, reply, page)
}

function sendKept(request: FastifyRequest, reply: FastifyReply, page: KeptPage): FastifyReply | Promise<FastifyReply> {
  reply.code(page.status).headers(page.headers).header('etag', page.etag)
  // RFC 9110, section 13.2.1: only of what would be answered with 200.
  if (page.status === 200 && isKnown(request.headers['if-none-match'], page.etag)) return reply.code(304).send()
  const encoding = page.body.length < compressible ? null : encodingFor(request.headers['accept-encoding'])
  if (encoding === null) return reply.send(page.body)
  page[encoding] ??= encoders[encoding](page.body)
  return page[encoding].then((bytes) => reply.header('content-encoding', encoding).send(bytes))
}

/** RFC 9110, section 13.1.2: weakly compared, as any of a list. */
const isKnown = (given: string | undefined, etag: string): boolean =>
  given !== undefined && (given.trim() === '*' || given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag.slice(2)))

const encoders = {
  br: (body: Buffer): Promise<Buffer> =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }),
  gzip: (body: Buffer): Promise<Buffer> => promisify(gzip)(body, { level: 6 }),
}

/** What the browser takes; `q=0` says that it does not. */
function encodingFor(accepted: string | undefined): keyof typeof encoders | null {
  if (accepted === undefined) return null
  const taken = accepted.split(',').flatMap((one) => (/;\s*q=0(?:\.0*)?\s*$/.test(one) ? [] : [one.split(';')[0]?.trim().toLowerCase()]))
  return taken.includes('br') ? 'br' : taken.includes('gzip') ? 'gzip' : null
}
