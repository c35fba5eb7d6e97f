import { newId, parseId } from '../../server/base/ids.ts'
import { withClient } from '../../server/database/with-client.ts'
import { fileMail, type Letter } from './inbound.ts'
import type { TestApp } from './posthaste.ts'
import type { TestProject } from './project.ts'

/** A mailbox of a fresh project, for tests of what is in it. */
export interface TestMailbox {
  project: TestProject
  id: string
  address: string
  /** `/mailboxes/mbx_…/emails`, and what follows it. */
  path(rest?: string): string
  /** Files a mail that came in, and answers its id. */
  receive(letter?: Letter & { raw?: string }): Promise<string>
}

export async function newMailbox(app: TestApp, project?: TestProject): Promise<TestMailbox> {
  const owner = project ?? (await app.newProject())
  const { body } = await owner.post('/mailboxes', { name: 'Otter' })
  const path = (rest = '') => `/mailboxes/${body.id}/emails${rest}`
  await owner.events()
  return {
    project: owner,
    id: body.id,
    address: body.address,
    path,
    async receive(letter = {}) {
      await fileMail(app, { recipients: [body.address], ...letter })
      return (await owner.get(path('?direction=inbound&limit=1'))).body[0].id
    },
  }
}

/** As when another process files a mail: this one hears of it from the database alone. */
export const fileElsewhere = ({ connection }: TestApp, { project, id, address }: TestMailbox, subject: string) =>
  withClient(connection, async (client) => {
    const mailbox_id = parseId('mbx', id)
    await client.query('begin')
    const { rows } = await client.query(
      'update mailboxes set email_count = email_count + 1, last_position = last_position + 1 where id = $1 returning last_position',
      [mailbox_id],
    )
    await client.query(
      `insert into emails (project_id, id, mailbox_id, direction, status, from_address, to_address, to_key, subject, position, thread_id, created_at, updated_at)
       values ($1, $2, $3, 'inbound', 'received', 'ann@example.com', $4, $4, $5, $6, $2, now(), now())`,
      [project.id, newId(), mailbox_id, address, subject, rows[0].last_position],
    )
    await client.query(`select pg_notify('mailboxes', $1)`, [mailbox_id])
    await client.query('commit')
  })
