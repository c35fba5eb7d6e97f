import { userInfo } from 'node:os'
import { type ListId, type MailboxId, type ProjectId, parseId, type UserId } from '../base/ids.ts'
import type { Queryable, Transaction } from '../database/database.ts'
import { nothing, sql } from '../database/sql.ts'
import { periodStart } from '../features/usage/usage.ts'
import { leaveAuditRow } from '../operations/audit.ts'
import { UsageError } from './usage.ts'

/** Whoever runs a command has the whole installation before them: these look things up by the names that people use. */
interface Project {
  id: ProjectId
  owner_id: UserId
  slug: string
}

/** The owner's, unless a slug is given. */
export async function findProject(db: Queryable, slug: string | undefined): Promise<Project> {
  const project = await db.first<Project>`
    select p.id, p.owner_id, p.slug from projects p
    ${slug === undefined ? sql`join instance i on i.owner_project_id = p.id` : sql`where p.slug = ${slug} and p.deleted_at is null`}`
  if (project) return project
  if (slug === undefined) throw new UsageError('This database has no owner yet. Run "posthaste start" once.')
  const known = await db.many<{ slug: string }>`select slug from projects where deleted_at is null order by id limit 20`
  throw new UsageError(`There is no project "${slug}". There are: ${known.map((row) => row.slug).join(', ')}.`)
}

export interface ListedProject {
  slug: string
  name: string
  /** An address, or an agent's name. */
  owner: string
  plan: string
  used: number
}

/** Months are counted as they are for plans: in UTC. */
export const listProjects = (db: Queryable, now: Date, limit: number) => db.many<ListedProject>`
  select p.slug, p.name, coalesce(u.email, u.name, u.slug) as owner, p.plan, coalesce(m.used, 0) as used
  from projects p join users u on u.id = p.owner_id
  left join usage_periods m on m.project_id = p.id and m.period_start = ${periodStart(now)}
  where p.deleted_at is null order by p.id desc limit ${limit}`

export async function findMailboxByAddress(db: Queryable, project_id: ProjectId, address: string): Promise<{ id: MailboxId }> {
  const mailbox = await db.first<{ id: MailboxId }>`
    select id from mailboxes where project_id = ${project_id} and address_key = ${address.toLowerCase()} and deleted_at is null`
  if (!mailbox) throw new UsageError(`There is no mailbox ${address} in this project.`)
  return mailbox
}

interface List {
  project_id: ProjectId
  id: ListId
  name: string
}

/** By its id or its subdomain, in whichever project it is: both are unique. */
export async function findListAnywhere(db: Queryable, idOrSubdomain: string): Promise<List> {
  const id = parseId('lst', idOrSubdomain)
  const lists = await db.many<List>`
    select project_id, id, name from lists
    where deleted_at is null and (subdomain = ${idOrSubdomain.toLowerCase()} ${id === null ? nothing : sql`or id = ${id}`})`
  const [list] = lists
  if (list) return list
  const known = await db.many<{ subdomain: string }>`select subdomain from lists where deleted_at is null order by id desc limit 20`
  const hint = known.length > 0 ? `There are: ${known.map((row) => row.subdomain).join(', ')}.` : 'There are no lists yet.'
  throw new UsageError(`There is no list "${idOrSubdomain}". ${hint}`)
}

/** Nobody's key was used, so the log names the user of the machine. */
export const leaveCommandAuditRow = (tx: Transaction, project_id: ProjectId, row: { operation: string; target: object }) =>
  leaveAuditRow(tx, { project_id, ...row, caller: null, request_id: `command line of ${machineUser()}` })

function machineUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container's made-up user has no name.
    return `user ${process.geteuid?.()}`
  }
}
