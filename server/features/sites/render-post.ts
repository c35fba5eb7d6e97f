import { ByteCache } from '../../base/byte-cache.ts'
import { ApiError } from '../../base/errors.ts'
import { CompilerBusy, TemplateError, type PostPage as WholePage } from '../../mail/compile/index.ts'
import type { Services } from '../../operations/context.ts'
import { postSourceOf } from '../posts/index.ts'
import type { SitePostRow, SiteRow } from './site.ts'

/** What a search needs of it is kept elsewhere. */
export type PostPage = Omit<WholePage, 'text'>

const maxBytes = 32 * 1024 * 1024

/** The body of a post, safe to show; null when what its author wrote cannot be put together for the site. */
export type RenderPost = (post: SitePostRow, site: Pick<SiteRow, 'name' | 'postal_address'>) => Promise<PostPage | null>

const busy = (): ApiError =>
  new ApiError('service_unavailable', 'Too many posts are being put together just now. Try again in a few seconds.', {
    headers: { 'retry-after': '5' },
  })

const withoutText = ({ text: _, ...page }: WholePage): PostPage => page

/** Put together once for each change of post or list, in the compiler's thread: what it costs, its author chose. */
export function createRenderPost({ compiler, log }: Pick<Services, 'compiler' | 'log'>): RenderPost {
  const made = new ByteCache<PostPage | null>(maxBytes)
  const making = new Map<string, Promise<PostPage | null>>()

  const make = async (post: SitePostRow, { name, postal_address }: Parameters<RenderPost>[1], key: string) => {
    const fixed = { list_name: name, postal_address: postal_address ?? '' }
    const whole = await compiler.page(post.project_id, postSourceOf(post), fixed).catch((error: unknown) => {
      if (error instanceof CompilerBusy) throw busy()
      if (!(error instanceof TemplateError)) throw error
      log.info({ post_id: post.id, reason: error.message }, 'a post cannot be shown on its site')
      return null
    })
    const page = whole && withoutText(whole)
    made.put(key, page, page === null ? 100 : 2 * page.html.length + 200)
    return page
  }
  return async (post, site) => {
    const key = JSON.stringify([post.project_id, post.id, post.updated_at, site.name, site.postal_address])
    const known = made.get(key)
    if (known !== undefined) return known
    const under = making.get(key) ?? make(post, site, key).finally(() => making.delete(key))
    making.set(key, under)
    return under
  }
}
