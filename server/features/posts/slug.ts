import { formatId } from '../../base/ids.ts'
import { slugOf } from '../../base/slug.ts'
import type { Transaction } from '../../database/database.ts'
import { holdName } from '../../database/hold-name.ts'
import { plainLine } from '../../mail/compile/index.ts'
import type { PostRow } from './post.ts'
import { type SiteText, takenSlugs } from './post-queries.ts'

const maxLetters = 60

/**
 * Where the post stands on the list's site: `/p/{slug}`. Made of its title there when it is first published or sent, and kept for life. A title
 * without a Latin letter or digit leaves the id.
 */
export async function slugFor(tx: Transaction, post: PostRow, site: SiteText | null): Promise<string> {
  if (post.slug !== null) return post.slug
  const base = slugOf(site?.title ?? plainLine(post.subject, { list_name: '' }), maxLetters)
  if (base === '') return formatId('post', post.id)
  // Two of one subject take turns.
  await holdName(tx, `post slug ${post.list_id}`)
  const taken = new Set((await takenSlugs(tx, post, base)).map(({ slug }) => slug))
  let slug = base
  for (let number = 2; taken.has(slug); number++) slug = `${base}-${number}`
  return slug
}
