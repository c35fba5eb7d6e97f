import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { moveRest } from './move-rest.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services

async function withGroups(project: TestProject, people: string[], groups: Record<string, string[]>): Promise<void> {
  const { body: list } = await project.post('/lists', { name: 'People' })
  for (const name of people) await project.post(`/lists/${list.id}/subscribers`, { email: `${name}@example.org`, verified: true })
  const contacts: { id: string; email: string }[] = (await project.get('/contacts')).body
  for (const [name, members] of Object.entries(groups)) {
    const { body: group } = await project.post('/contact-groups', { name })
    const contact_ids = contacts.filter(({ email }) => members.some((member) => email.startsWith(member))).map(({ id }) => id)
    await project.post(`/contact-groups/${group.id}/contacts`, { contact_ids })
  }
}

test('groups of one name become one, with everybody once; mail, calendars and totals follow the person', async () => {
  const [agent, human] = [await app.newProject(), await app.newProject()]
  await withGroups(agent, ['ann', 'bo', 'cy'], { VIP: ['ann', 'bo'], Others: ['cy'] })
  await withGroups(human, ['ann', 'dee'], { vip: ['ann', 'dee'], Mine: ['dee'] })
  const { body: mailbox } = await agent.post('/mailboxes', { name: 'Desk' })
  await agent.post('/emails', { from: mailbox.address, to: 'ann@example.org', subject: 'Hi', text: 'Hello' })
  const calendar = 'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20300101T100000Z\r\nSUMMARY:Tea\r\nEND:VEVENT\r\nEND:VCALENDAR'
  await fileMail(app, { recipients: [mailbox.address], from: 'ann@example.org', headers: ['Content-Type: text/calendar'], text: calendar })
  await database.run`update contacts set total_opens = 3, past_opens = 3, total_received = 2 where project_id = ${agent.id} and email like 'ann%'`
  await Promise.all([agent.events(), human.events()])

  await moveRest.run(app.services, { from: agent.id, to: human.id })
  const events = await human.events()
  assert.deepEqual(events.filter((type) => type.startsWith('contact_group.')).sort(), ['contact_group.created', 'contact_group.updated'])
  const groups: { id: string; name: string; contact_count: number }[] = (await human.get('/contact-groups')).body
  const members: Record<string, string> = {}
  for (const { id, name, contact_count } of groups) {
    const { body } = await human.get(`/contacts?sort=email&group_id=${id}`)
    assert.equal(body.length, contact_count, name)
    members[name] = body.map(({ email }: { email: string }) => email.split('@')[0]).join()
  }
  assert.deepEqual(members, { Mine: 'dee', Others: 'cy', vip: 'ann,bo,dee' })
  const [ann] = (await human.get('/contacts?search=ann@')).body
  assert.deepEqual([ann.total_received, ann.total_opens], [3, 3])
  const kinds = (await human.get(`/contacts/${ann.id}/activity`)).body.map(({ kind }: { kind: string }) => kind)
  assert.deepEqual([kinds.includes('email.received'), kinds.includes('email.delivered')], [true, true])
  assert.equal((await human.get('/calendar-events')).body.length, 1)
  for (const table of ['contact_groups', 'contact_group_members', 'calendar_events', 'contacts', 'emails'])
    assert.deepEqual((await database.execute(`select 1 from ${table} where project_id = $1`, [agent.id])).rows, [], table)
})
