import type { z } from 'zod'
import type { Id, ProjectId } from '../../base/ids.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { hasTrigram, matches, planForValues } from '../../database/search.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { ContactSort, ContactSummary } from './contact.ts'
import { received } from './contact-queries.ts'

/**
 * The first contacts in an order, at a million contacts as at a thousand. Every order has an index of those who have what it sorts
 * by; everybody else follows, newest first. A word that many have is found on a walk along the order. One that few have is not,
 * and those few are looked up by trigrams and sorted. By name and by address, those whose own begins with the word stand together, perhaps
 * far down, and may be very many: a second walk begins there. The planner is not asked which of these it is: it guesses from a hundred
 * sampled rows, and after a wrong guess walks past everybody.
 */
type SummaryRow = z.output<typeof ContactSummary>

interface ContactFilter {
  project_id: ProjectId
  sort: ContactSort
  search?: string | undefined
  group_id?: Id<'grp'> | undefined
  limit: number
}

interface Rank {
  has: Fragment
  order: Fragment
  /** What it sorts by, where that is text: people look for how it begins. */
  letters?: Fragment
}

const ranks: Record<ContactSort, Rank> = {
  top: { has: sql`c.engagement > 0`, order: sql`c.engagement desc, c.id desc` },
  activity: { has: sql`c.last_activity_at is not null`, order: sql`c.last_activity_at desc, c.id desc` },
  name: { has: sql`c.name is not null`, order: sql`lower(c.name), c.id`, letters: sql`lower(c.name)` },
  email: { has: sql`c.email_key is not null`, order: sql`c.email_key`, letters: sql`c.email_key` },
  // Nobody: newest first is the order of everybody else.
  created: { has: sql`c.id is null`, order: sql`c.id` },
}

const wholeOrder = ({ has, order }: Rank) => sql`(${has}) desc, case when not (${has}) then c.id end desc, ${order}`

/**
 * How far a walk looks before the index is asked. A word that fewer have is looked up, and all who have it are read: walking this far
 * makes what is read at most, walked and looked up together, as little as it can be among a million.
 */
const walkLength = (limit: number): number => Math.ceil(1_000 * Math.sqrt(limit))

export async function firstContacts(database: Database, filter: ContactFilter): Promise<SummaryRow[]> {
  const { search, group_id, limit } = filter
  if (group_id !== undefined) return findContacts(database, filter)
  if (search === undefined) return walkContacts(database, filter, limit)
  const walked = await walkContacts(database, filter, walkLength(limit))
  // Nobody can look up a dot. Whoever has one and stands far down is not found.
  if (walked.length === limit || !hasTrigram(search)) return walked
  const beginning = await walkBeginning(database, { ...filter, search })
  if (beginning !== null) return beginning
  return database.transaction(async (tx) => {
    await planForValues(tx)
    return findContacts(tx, filter)
  })
}

const columns = sql`
  c.id, c.kind, c.email, c.name, c.country, c.city, ${received} as total_received, c.total_opens, c.total_clicks, c.total_replies,
  (select count(*) from subscribers s join lists l on l.project_id = s.project_id and l.id = s.list_id
    where s.project_id = c.project_id and s.contact_id = c.id and l.deleted_at is null) as list_count,
  c.last_activity_at, c.created_at`

/** All that finding and sorting looks at: thousands are read for the fifty that are shown. */
const slim = sql`c.project_id, c.id, c.engagement, c.last_activity_at, c.name, c.email_key, c.search_text`
const searchText = sql`c.search_text`

/** Those among the first `length` in the order who match. When the ranked end before that, as many of the newest fill up the rest. */
function walkContacts(db: Queryable, filter: ContactFilter, length: number): Promise<SummaryRow[]> {
  const { project_id, sort, search } = filter
  const rank = ranks[sort]
  return showFirst(
    db,
    filter,
    sql`
    with ranked as (select ${slim} from contacts c where c.project_id = ${project_id} and ${rank.has} order by ${rank.order} limit ${length}),
      newest as (select ${slim} from contacts c where c.project_id = ${project_id} order by c.id desc limit ${length})
    select ${slim} from (
      select * from ranked
      union all
      select * from newest c where not (${rank.has}) and (select count(*) from ranked) < ${length}
    ) c
    ${search === undefined ? nothing : sql`where ${matches(searchText, search)}`}`,
  )
}

/**
 * What the walk has passed, and behind it those whose name or address begins with the word, when both together are as many as are asked
 * for; null when not. Who stands between the two and has the word elsewhere is left out: to find out, everybody who has it would be read.
 */
async function walkBeginning(db: Queryable, filter: ContactFilter & { search: string }): Promise<SummaryRow[] | null> {
  const { project_id, sort, search, limit } = filter
  const { has, order, letters } = ranks[sort]
  if (!letters) return null
  const length = walkLength(limit)
  const first = search.toLowerCase()
  const found = await showFirst(
    db,
    filter,
    sql`
    with passed as (select ${slim} from contacts c where c.project_id = ${project_id} and ${has} order by ${order} limit ${length}),
      behind as (select ${slim} from contacts c where c.project_id = ${project_id} and ${has} and ${letters} >= ${first} order by ${order} limit ${length}),
      beginning as (select ${slim} from behind c where starts_with(${letters}, ${first}) order by ${order} limit ${limit})
    select ${slim} from passed c where ${matches(searchText, search)}
    union
    select ${slim} from beginning c where ${matches(searchText, search)}`,
  )
  return found.length === limit ? found : null
}

const inGroup = (group_id: Id<'grp'>) => sql`
  and c.id in (select m.contact_id from contact_group_members m where m.project_id = c.project_id and m.group_id = ${group_id})`

/** All who match, then the first of them: `offset 0` keeps the planner from walking along the order after all. */
const findContacts = (db: Queryable, filter: ContactFilter) =>
  showFirst(
    db,
    filter,
    sql`
    select ${slim} from contacts c where c.project_id = ${filter.project_id}
      ${filter.search === undefined ? nothing : sql`and ${matches(searchText, filter.search)}`}
      ${filter.group_id === undefined ? nothing : inGroup(filter.group_id)} offset 0`,
  )

const showFirst = (db: Queryable, { project_id, sort, limit }: ContactFilter, found: Fragment) => db.many<SummaryRow>`
  select ${columns} from (select c.id from (${found}) c order by ${wholeOrder(ranks[sort])} limit ${limit}) first
  join contacts c on c.project_id = ${project_id} and c.id = first.id
  order by ${wholeOrder(ranks[sort])}`

interface GroupPage {
  project_id: ProjectId
  group_id: Id<'grp'>
  after: string | null
  limit: number
}

/** Newest contacts first. */
export const pageGroupContacts = (db: Queryable, { project_id, group_id, after, limit }: GroupPage) => db.many<SummaryRow>`
  select ${columns} from contact_group_members m join contacts c on c.project_id = m.project_id and c.id = m.contact_id
  where m.project_id = ${project_id} and m.group_id = ${group_id} ${after === null ? nothing : sql`and m.contact_id < ${after}`}
  order by m.contact_id desc limit ${limit}`

export const groupExists = async (db: Queryable, { project_id, group_id }: Pick<GroupPage, 'project_id' | 'group_id'>): Promise<boolean> =>
  (await db.first`select 1 from contact_groups where project_id = ${project_id} and id = ${group_id}`) !== null
