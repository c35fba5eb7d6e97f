import type { SiteRow } from '../../features/sites/index.ts'

/** As long as a change may take until it shows. */
const trustedForMs = 500
const maxRemembered = 10_000

/** What sites were a moment ago: the database is asked at most twice a second about each, and who asks meanwhile need not wait. */
export class RecentSites {
  readonly #look: (subdomain: string) => Promise<SiteRow | null>
  readonly #sites = new Map<string, { row: SiteRow | null; until: number }>()
  readonly #looking = new Map<string, Promise<SiteRow | null>>()

  constructor(look: (subdomain: string) => Promise<SiteRow | null>) {
    this.#look = look
  }

  /** Null, too, when nobody has asked lately. */
  known(subdomain: string): SiteRow | null {
    const site = this.#sites.get(subdomain)
    return site && site.until > performance.now() ? site.row : null
  }

  async find(subdomain: string): Promise<SiteRow | null> {
    const site = this.#sites.get(subdomain)
    if (site && site.until > performance.now()) return site.row
    const looking = this.#looking.get(subdomain) ?? this.#ask(subdomain)
    this.#looking.set(subdomain, looking)
    return looking
  }

  async #ask(subdomain: string): Promise<SiteRow | null> {
    try {
      const row = await this.#look(subdomain)
      if (this.#sites.size >= maxRemembered) this.#sites.clear()
      this.#sites.set(subdomain, { row, until: performance.now() + trustedForMs })
      return row
    } finally {
      this.#looking.delete(subdomain)
    }
  }
}
