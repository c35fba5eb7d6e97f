import { reasonOf } from '../../base/errors.ts'
import { formatId, type PostId } from '../../base/ids.ts'
import { defineJob } from '../../jobs/jobs.ts'
import { CompilerBusy } from '../../mail/compile/index.ts'
import type { Services } from '../../operations/context.ts'
import { describeByTitle, describePost, postSourceOf, saveSiteText } from '../posts/index.ts'
import { holdUndescribed, pageUndescribed, type UndescribedPost } from './site-queries.ts'

const batch = 50
/** So that a large archive takes turns with everything else that is done in the background. */
const atOnce = 1_000

/**
 * What was published before sites had words of their own to show and to search in, or on a machine too busy to find them. Once all has them,
 * a look at an empty index.
 */
export const describePosts = defineJob<object>({
  name: 'sites.describe_posts',
  schedule: '* * * * *',
  retryLimit: 0,
  async run(services) {
    let after: PostId | null = null
    for (let done = 0; done < atOnce; done += batch) {
      const posts: UndescribedPost[] = await pageUndescribed(services.database, { after, limit: batch })
      for (const post of posts) await describe(services, post)
      after = posts.at(-1)?.post_id ?? after
      if (posts.length < batch) return
    }
  },
})

async function describe(services: Services, post: UndescribedPost): Promise<void> {
  try {
    const described = { project_id: post.project_id, list: post, source: postSourceOf(post) }
    const text = (await describePost(services, described)) ?? describeByTitle(described)
    await services.database.transaction(async (tx) => {
      if (await holdUndescribed(tx, post)) await saveSiteText(tx, { ...post, id: post.post_id }, text)
    })
  } catch (error) {
    // It is this one's turn again in a minute. One that fails for a reason that nobody thought of holds up no other.
    if (error instanceof CompilerBusy) return
    services.log.warn({ post_id: formatId('post', post.post_id), reason: reasonOf(error) }, 'a post on a site could not be described yet')
  }
}
