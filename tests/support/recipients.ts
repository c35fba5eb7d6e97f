import { type DeliveryTokens, formatDeliveryTokens } from '../../server/base/delivery-token.ts'
import { type DeliveryId, parseId } from '../../server/base/ids.ts'
import type { TestApp } from './posthaste.ts'
import { newPost } from './posts.ts'
import type { TestProject } from './project.ts'
import { until } from './until.ts'

export interface TestRecipient {
  tokens: DeliveryTokens
  id: DeliveryId
  email: string
}

interface SentOptions {
  subscribers?: number
  tracked?: boolean
  project?: TestProject
  body?: object
}

/** A post that was sent to so many, and what is in each one's mail. Long enough ago for what follows to be people's doing. */
export async function newSentPost(app: TestApp, { subscribers = 1, tracked = true, project, body }: SentOptions = {}) {
  const made = await newPost(app, {
    subscribers,
    ...(project ? { project } : {}),
    body: body ?? { body_html: '<p><a href="https://example.org/a">A</a> <a href="https://example.org/b?x=1&amp;y=2">B</a></p>' },
  })
  if (tracked) await made.project.patch(`/lists/${made.list.id}`, { track_opens: true, track_clicks: true })
  await made.project.post(`${made.path}/send`)
  await until('the post to be sent', async () => (await made.project.get(made.path)).body.status === 'sent', { withinMs: 15_000 })
  await made.project.events()
  app.clock.advance(3_000)
  const recipients = await recipientsOf(app, made.project, made.post.id)
  return { ...made, recipients, first: recipients[0] as TestRecipient }
}

/** Of the newest broadcast of a post, by address. */
export async function recipientsOf({ services }: TestApp, project: TestProject, postId: string): Promise<TestRecipient[]> {
  const rows = await services.database.many<{ id: DeliveryId; email: string }>`
    select d.id, d.email from deliveries d join posts p on p.project_id = d.project_id and p.broadcast_id = d.broadcast_id
    where p.project_id = ${project.id} and p.id = ${parseId('post', postId)} order by length(d.email), d.email`
  return rows.map((row) => ({
    ...row,
    tokens: formatDeliveryTokens(services.secrets, { kind: 'delivery', project_id: project.id, id: row.id }),
  }))
}

/** What the ledger says of one recipient. */
export const ledgerOf = ({ services }: TestApp, project: TestProject, { id }: TestRecipient) =>
  services.database.first<{
    status: string
    reason: string | null
    opened_at: Date | null
    open_count: number
    click_count: number
    machine_open_count: number
  }>`select status, reason, opened_at, open_count, click_count, machine_open_count from deliveries where project_id = ${project.id} and id = ${id}`

export const suppressionsOf = async (project: TestProject): Promise<[email: string, reason: string][]> =>
  (await project.get('/suppressions')).body.map(({ email, reason }: { email: string; reason: string }) => [email, reason])

/** The counts that a post's broadcast keeps. */
export const countsOf = ({ services }: TestApp, project: TestProject, postId: string) =>
  services.database.first<Record<'delivered' | 'bounced' | 'failed' | 'complained' | 'opened' | 'clicked', number>>`
    select b.delivered, b.bounced, b.failed, b.complained, b.opened, b.clicked
    from broadcasts b join posts p on p.project_id = b.project_id and p.broadcast_id = b.id
    where p.project_id = ${project.id} and p.id = ${parseId('post', postId)}`
