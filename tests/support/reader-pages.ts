import assert from 'node:assert/strict'
import type { TestApp } from './posthaste.ts'
import { newSentPost } from './recipients.ts'
import { newVisitor } from './visitor.ts'
import { confirmByMail, linkFor, newPerson, newWaitlist } from './waitlists.ts'

/** Pages that people come to by a link in their mail, by a form, or by mistake: name and address of each. */
export async function readerPages(app: TestApp): Promise<Record<string, string>> {
  return { ...(await subscriberPages(app)), ...(await waitlistPages(app)) }
}

async function subscriberPages(app: TestApp): Promise<Record<string, string>> {
  const { project, list, recipients } = await newSentPost(app, { subscribers: 2 })
  const [stays, leaves] = recipients.map(({ tokens }) => `${app.url}/u/${tokens.unsubscribe}`) as [string, string]
  await project.patch(`/lists/${list.id}`, { accent_color: '#2f6f4f', postal_address: '1 High Street', welcome_message: 'Hello!' })
  assert.equal((await fetch(leaves, { method: 'POST' })).status, 200)
  const [pending, done, paused, next] = [newPerson(), newPerson(), newPerson(), newPerson()]
  for (const email of [pending, done, paused]) await project.post(`/lists/${list.id}/subscribers`, { email })
  for (const email of [done, paused]) await confirmByMail(app, email)
  const [confirmed, pausing] = [await linkFor(app, done, '/confirm/'), await linkFor(app, paused, '/preferences/')]
  const preferences = /href="([^"]+\/preferences\/[^"]+)"/.exec(await (await fetch(confirmed)).text())?.[1] as string
  const visitor = newVisitor(app.url)
  await visitor.post(`${pausing}/pause`, { days: '30' })
  await visitor.post(`${preferences}/address`, { email: next })
  const agreeing = await linkFor(app, done, '/preferences/agree/')
  await visitor.post(agreeing)
  await visitor.post(`${preferences}/data`)
  return {
    confirm: await linkFor(app, pending, '/confirm/'),
    confirmed,
    unsubscribe: stays,
    unsubscribed: leaves,
    preferences,
    paused: pausing,
    'another address, the old mailbox': agreeing,
    'another address': await linkFor(app, next, '/preferences/address/'),
    'own data': await linkFor(app, done, '/preferences/data/'),
    embed: `${app.url}/s/${list.subdomain}/embed`,
  }
}

async function waitlistPages(app: TestApp): Promise<Record<string, string>> {
  const list = await newWaitlist(app)
  const closed = await newWaitlist(app, { waitlist_closed: true })
  const [first, second] = [newPerson(), newPerson()]
  for (const email of [first, second]) {
    await list.join(email)
    await confirmByMail(app, email)
  }
  const confirmed = await linkFor(app, second, '/confirm/')
  const status = /href="([^"]+\/w\/[^"]+)"/.exec(await (await fetch(confirmed)).text())?.[1] as string
  await list.project.post(`${list.path}/invite`, { count: 1 })
  return {
    waitlist: `${app.url}/s/${list.subdomain}/`,
    join: `${app.url}/s/${list.subdomain}/join`,
    closed: `${app.url}/s/${closed.subdomain}/join`,
    'on the waitlist': confirmed,
    'where they stand': status,
    invited: await linkFor(app, first, '/invited/'),
  }
}
