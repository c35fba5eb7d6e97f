import type { z } from 'zod'
import type { ProjectId } from '../../base/ids.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { likePattern, planForValues } from '../../database/search.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { ContactSort, ContactSummary } from './contact.ts'

/**
 * The first contacts in an order, at a million contacts as at a thousand. Every order has an index of those who have what it sorts
 * by; everybody else follows, newest first. A word that many have is found on a walk along the order. One that few have is not,
 * and those few are looked up by trigrams and sorted. The planner is not asked which of the two it is: it guesses from a hundred
 * sampled rows, and after a wrong guess walks past everybody.
 */
type SummaryRow = z.output<typeof ContactSummary>

interface ContactFilter {
  project_id: ProjectId
  sort: ContactSort
  search?: string | undefined
  limit: number
}

interface Rank {
  has: Fragment
  order: Fragment
}

const ranks: Record<ContactSort, Rank> = {
  top: { has: sql`c.engagement > 0`, order: sql`c.engagement desc, c.id desc` },
  activity: { has: sql`c.last_activity_at is not null`, order: sql`c.last_activity_at desc, c.id desc` },
  name: { has: sql`c.name is not null`, order: sql`lower(c.name), c.id` },
  email: { has: sql`c.email_key is not null`, order: sql`c.email_key` },
  // Nobody: newest first is the order of everybody else.
  created: { has: sql`c.id is null`, order: sql`c.id` },
}

const wholeOrder = ({ has, order }: Rank) => sql`(${has}) desc, case when not (${has}) then c.id end desc, ${order}`

/** How far a walk looks for a word before the index is asked. */
const walkLength = 2_000

export async function firstContacts(database: Database, { search, ...filter }: ContactFilter): Promise<SummaryRow[]> {
  if (search === undefined) return walkContacts(database, filter, filter.limit)
  const walked = await walkContacts(database, { search, ...filter }, walkLength)
  if (walked.length === filter.limit) return walked
  return database.transaction(async (tx) => {
    await planForValues(tx)
    return findContacts(tx, { search, ...filter })
  })
}

const columns = sql`
  c.id, c.kind, c.email, c.name, c.country, c.city, c.total_received, c.total_opens, c.total_clicks, c.total_replies,
  (select count(*) from subscribers s join lists l on l.project_id = s.project_id and l.id = s.list_id
    where s.project_id = c.project_id and s.contact_id = c.id and l.deleted_at is null) as list_count,
  c.last_activity_at, c.created_at`

/** Those among the first `length` in the order who match. When the ranked end before that, as many of the newest fill up the rest. */
function walkContacts(db: Queryable, { project_id, sort, search, limit }: ContactFilter, length: number): Promise<SummaryRow[]> {
  const rank = ranks[sort]
  return db.many<SummaryRow>`
    with ranked as (select * from contacts c where c.project_id = ${project_id} and ${rank.has} order by ${rank.order} limit ${length}),
      newest as (select * from contacts c where c.project_id = ${project_id} order by c.id desc limit ${length})
    select ${columns} from (
      select * from ranked
      union all
      select * from newest c where not (${rank.has}) and (select count(*) from ranked) < ${length}
    ) c
    ${search === undefined ? nothing : sql`where c.search_text like ${likePattern(search)}`}
    order by ${wholeOrder(rank)} limit ${limit}`
}

/** All who match, then the first of them: `offset 0` keeps the planner from walking along the order after all. */
const findContacts = (db: Queryable, { project_id, sort, search, limit }: ContactFilter & { search: string }) => db.many<SummaryRow>`
  select ${columns} from (
    select * from contacts c where c.project_id = ${project_id} and c.search_text like ${likePattern(search)} offset 0
  ) c
  order by ${wholeOrder(ranks[sort])} limit ${limit}`
