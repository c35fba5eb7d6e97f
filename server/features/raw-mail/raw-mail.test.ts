import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accept, type EmailSeen, emailsIn, fileMail, newMailbox, waitingMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { formatId, type MailboxId, type ProjectId, parseId } from '../../base/ids.ts'
import { moveThings } from '../agents/move-things.ts'
import { fileMessages } from '../filing/index.ts'
import { emptyMailbox } from '../mailboxes/empty-mailbox.ts'
import { maxKeptBytes, readRawMail } from './index.ts'

const app = await startApp({ ROLES: 'http' })
const { database, blobs } = app.services

const newestIn = async (project: { id: ProjectId }) => (await emailsIn(app, project)).at(-1) as EmailSeen
const newestText = async (project: TestProject, mailbox_id: string) => {
  const { body: page } = await project.get(`/mailboxes/${mailbox_id}/emails`)
  return (await project.get(`/mailboxes/${mailbox_id}/emails/${page[0].id}`)).body.text_body
}
const keptOf = async ({ id }: { id: ProjectId }) => (await database.many`select 1 from inbound_spool where project_id = ${id}`).length

test('a small message stays in the spool’s row, without who handed it over; a large one goes to the blob store; both are downloaded alike', async () => {
  const { project, address, id } = await newMailbox(app)
  for (const letters of [10, maxKeptBytes]) {
    const { message } = await fileMail(app, { recipients: [address], text: 'x'.repeat(letters) })
    const email = await newestIn(project)
    assert.equal((await blobs.get(email.raw_key).catch(() => null)) !== null, letters === maxKeptBytes)
    const answer = await project.get(`/mailboxes/${id}/emails/${formatId('eml', email.id)}/raw`)
    assert.equal(answer.status, 200)
    assert.deepEqual(await readRawMail(app.services, { project_id: project.id, raw_key: email.raw_key }), message.raw)
    assert.deepEqual(await database.many`select 1 from inbound_spool where id = ${message.id}`, [], 'it has another name now')
  }
  assert.deepEqual(await database.many`select envelope_from, recipients, peer from inbound_spool where project_id = ${project.id}`, [
    { envelope_from: '', recipients: [], peer: {} },
  ])
  assert.equal(await waitingMail(app), 0)
})

test('the text is read out of it, and is the same wherever it lies: in one project, in two, above the bound, and after a merge', async () => {
  const first = await newMailbox(app)
  const second = await newMailbox(app, first.project)
  const other = await newMailbox(app)
  const recipients = [first.address, second.address, other.address]
  for (const text of ['Grüße 🎉\r\n\r\n100 % "sicher" \\', 'ü'.repeat(maxKeptBytes)]) {
    await fileMail(app, { recipients, text })
    const stored = await database.many<{ text_body: string | null; raw_text_bytes: number | null }>`
      select text_body, raw_text_bytes from emails order by id desc limit 3`
    const places = text.length < maxKeptBytes ? [null, Buffer.byteLength(text) + 2, Buffer.byteLength(text) + 2] : [null, null, null]
    assert.deepEqual(stored.map(({ raw_text_bytes }) => raw_text_bytes).sort(), places.sort())
    assert.ok(stored.every(({ text_body, raw_text_bytes }) => (text_body === null) === (raw_text_bytes !== null)))
    for (const box of [first, second, other]) assert.equal(await newestText(box.project, box.id), `${text.replaceAll('\r\n', '\n')}\n`)
    assert.equal((await first.project.get(`/mailboxes/${first.id}/emails?search=SICHER`)).body.length, 1)
  }
  await emptyMailbox(app.services, { project_id: first.project.id, id: parseId('mbx', first.id) as MailboxId })
  const { body } = await second.project.get(`/mailboxes/${second.id}/emails?search=sicher`)
  assert.equal(body.length, 1)
  await database.transaction((tx) => moveThings(tx, { from: first.project.id, to: other.project.id }))
  const moved = await other.project.get(`/mailboxes/${second.id}/emails/${body[0].id}`)
  assert.equal(moved.body.text_body, 'Grüße 🎉\n\n100 % "sicher" \\\n')
})

test('a process of the release before, which is at the same message, finds nothing to take out', async () => {
  const { project, address } = await newMailbox(app)
  const mail = await accept(app, { recipients: [address] })
  await fileMessages(app.services, [mail])
  assert.equal(await database.run`delete from inbound_spool where id = any(${[mail.message.id]}::uuid[])`, 0)
  assert.equal(await keptOf(project), 1)
})

test('it goes with the mailbox, but not while another mailbox of the project has it', async () => {
  const first = await newMailbox(app)
  const second = await newMailbox(app, first.project)
  await fileMail(app, { recipients: [first.address, second.address] })
  const { id: project_id } = first.project
  for (const [mailbox, left] of [
    [first, 1],
    [second, 0],
  ] as const) {
    await emptyMailbox(app.services, { project_id, id: parseId('mbx', mailbox.id) as MailboxId })
    assert.equal(await keptOf(first.project), left)
  }
})

test('a merge takes it along', async () => {
  const from = await newMailbox(app)
  const to = await app.newProject()
  const { message } = await fileMail(app, { recipients: [from.address] })
  await database.transaction((tx) => moveThings(tx, { from: from.project.id, to: to.id }))
  const { raw_key } = await newestIn(to)
  assert.deepEqual(await readRawMail(app.services, { project_id: to.id, raw_key }), message.raw)
  assert.equal(await readRawMail(app.services, { project_id: from.project.id, raw_key }), null)
})
