import type { ProjectId } from '../../base/ids.ts'
import { type PostSource, plainLine, TemplateError } from '../../mail/compile/index.ts'
import type { Services } from '../../operations/context.ts'
import type { ListRow } from '../lists/index.ts'
import type { SiteText } from './post-queries.ts'

interface Described {
  project_id: ProjectId
  list: Pick<ListRow, 'name' | 'postal_address'>
  source: PostSource
}

/**
 * How the site tells of a post: in lists, feeds, previews and to a search. Made with the page itself, so that none of them says what the page
 * does not. Null when that cannot be put together, or took too long on a busy machine.
 */
export async function describePost(
  { compiler }: Pick<Services, 'compiler'>,
  { project_id, list, source }: Described,
): Promise<SiteText | null> {
  const fixed = { list_name: list.name, postal_address: list.postal_address ?? '' }
  try {
    const { title, preview, excerpt, text } = await compiler.page(project_id, source, fixed)
    return { title, excerpt, words: wordsOf(`${title} ${preview} ${text}`) }
  } catch (error) {
    if (error instanceof TemplateError) return null
    throw error
  }
}

/** For what cannot be shown. */
export function describeByTitle({ list, source }: Described): SiteText {
  const title = plainLine(source.subject, { list_name: list.name })
  return { title, excerpt: '', words: wordsOf(title) }
}

const wordsOf = (text: string): string => text.match(/[\p{L}\p{N}\p{M}]+/gu)?.join(' ') ?? ''
