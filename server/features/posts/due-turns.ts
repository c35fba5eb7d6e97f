import type { PostId, ProjectId } from '../../base/ids.ts'
import type { PostKey } from './post-queries.ts'

const againAfterMs = 5_000

/**
 * Whose scheduled post is next. Projects take turns, one post each, and begin anew when all have had theirs: whoever has hundreds of them
 * due holds up nobody else's. A post that could not be sent waits for a while, and lets others pass, of its own project as well.
 */
export class DueTurns {
  readonly #most: number
  /** Had their turn, where there are more projects than a round has room for. */
  readonly #had = new Set<ProjectId>()
  /** Under way or failed, and when they may be tried again. */
  readonly #later = new Map<PostId, number>()

  constructor(most = 50) {
    this.#most = most
  }

  /** What to look for in the next round. */
  begin(now: Date) {
    for (const [post, at] of this.#later) if (at <= now.getTime()) this.#later.delete(post)
    return { now, limit: this.#most, without: { projects: [...this.#had], posts: [...this.#later.keys()] } }
  }

  /** These were found. True when there may be more. */
  note(due: PostKey[], now: Date): boolean {
    for (const { project_id, post_id } of due) {
      this.#had.add(project_id)
      this.#later.set(post_id, now.getTime() + againAfterMs)
    }
    const mayBeMore = this.#had.size > 0
    if (due.length < this.#most) this.#had.clear()
    return mayBeMore
  }

  /** It is on its way, a draft again, or not due any more. */
  settle({ post_id }: PostKey): void {
    this.#later.delete(post_id)
  }
}
