import { parseId } from '../../server/base/ids.ts'
import { preferencesUrl } from '../../server/features/preferences/index.ts'
import { findSubscriber } from '../../server/features/subscribers/index.ts'
import type { SubscriberRow } from '../../server/features/subscribers/subscriber.ts'
import type { TestApp } from './posthaste.ts'
import { newVisitor } from './visitor.ts'
import { newPerson } from './waitlists.ts'

/** Somebody on the first two of three lists of one sender, and the link that is in their mail. */
export async function newReader(app: TestApp, email = newPerson()) {
  const project = await app.newProject()
  type List = { id: string; name: string; subdomain: string }
  const lists: List[] = []
  for (const name of ['News', 'Notes', 'Others']) lists.push((await project.post('/lists', { name })).body)
  const subscribers: { id: string }[] = []
  for (const list of lists.slice(0, 2))
    subscribers.push((await project.post(`/lists/${list.id}/subscribers`, { email, name: 'Vic Tim', verified: true })).body)
  await project.events()
  const [news, notes, others] = lists as [List, List, List]
  const path = await preferencesPath(app, { project, list: news, subscriber: subscribers[0] as { id: string } })
  const statuses = async (): Promise<Record<string, string>> => {
    const shown: Record<string, string> = {}
    for (const list of lists)
      for (const one of (await project.get(`/lists/${list.id}/subscribers`)).body) shown[`${list.name} ${one.email}`] = one.status
    return shown
  }
  return { project, email, news, notes, others, subscribers, path, statuses, visitor: newVisitor(app.url) }
}

type WithId = { id: string }

/** The link that mail to somebody has at this moment. */
export async function preferencesPath(
  { services }: TestApp,
  { project, list, subscriber }: Record<'project' | 'list' | 'subscriber', WithId>,
): Promise<string> {
  const key = { project_id: project.id, list_id: parseId('lst', list.id), subscriber_id: parseId('sub', subscriber.id) }
  const row = await findSubscriber(services.database, key as Parameters<typeof findSubscriber>[1])
  return new URL(preferencesUrl(services, row as SubscriberRow)).pathname
}
