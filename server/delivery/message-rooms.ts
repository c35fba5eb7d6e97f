import type { ProjectId } from '../base/ids.ts'
import { type Fragment, nothing, sql } from '../database/sql.ts'
import { Places } from './places.ts'
import type { Transport } from './transports/index.ts'

/** What the room that a message takes depends on. */
interface Guest {
  project_id: ProjectId
  domain: string
  /** A code or a link of the installation's own, for which somebody waits at a page. */
  is_secret: boolean
}

/** One server that takes minutes for each step must not hold up the others, and one project's servers not those of another. */
const mostAtOnce = 40
const batch = 10
/** Beside those: whatever the projects send, people can sign in. */
const mostCodes = 20
/** To servers of strangers. A relay is one server for all domains. */
const mostToDomain = 3

/** Which may begin, and how many at once. */
export interface Welcome {
  /** Of a row of `messages`. */
  isWelcome: Fragment
  most: number
}

/** Which single messages may begin. Several are claimed at once, so each bound may be passed by the rest of them. */
export class MessageRooms {
  readonly #isDirect: boolean
  readonly #projects = new Places<ProjectId>(mostAtOnce)
  readonly #domains = new Map<string, number>()
  #codes = 0
  #hasTurnedAway = false

  constructor(transport: Pick<Transport, 'hasRoomFor'>) {
    this.#isDirect = transport.hasRoomFor !== undefined
  }

  /** Null when none may. */
  welcome(): Welcome | null {
    const takesCodes = this.#codes < mostCodes
    const takesOthers = !this.#projects.isFull
    const domains = this.#isDirect ? [...this.#domains].filter(([, count]) => count >= mostToDomain).map(([domain]) => domain) : []
    const projects = this.#projects.full
    this.#hasTurnedAway = !takesCodes || !takesOthers || domains.length > 0 || projects.length > 0
    if (!takesCodes && !takesOthers) return null
    const isWelcome = sql`
      (is_secret ${takesCodes ? nothing : sql`and false`} or not is_secret ${takesOthers ? nothing : sql`and false`} ${projects.length > 0 ? sql`and project_id <> all(${projects}::uuid[])` : nothing})
      ${domains.length > 0 ? sql`and split_part(recipient_key, '@', -1) <> all(${domains}::text[])` : nothing}`
    // The fewer are left the fewer at once: those of one project may all come first.
    return { isWelcome, most: Math.max(1, Math.min(batch, Math.floor((mostAtOnce - this.#projects.taken) / 4))) }
  }

  enter({ project_id, domain, is_secret }: Guest): void {
    if (is_secret) this.#codes++
    else this.#projects.take(project_id)
    this.#domains.set(domain, (this.#domains.get(domain) ?? 0) + 1)
  }

  /** Whether somebody may have been turned away for want of room. */
  leave({ project_id, domain, is_secret }: Guest): boolean {
    if (is_secret) this.#codes--
    else this.#projects.leave(project_id)
    const left = (this.#domains.get(domain) ?? 0) - 1
    if (left > 0) this.#domains.set(domain, left)
    else this.#domains.delete(domain)
    return this.#hasTurnedAway
  }
}
