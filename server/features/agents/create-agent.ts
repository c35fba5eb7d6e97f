import type { ProjectId, UserId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { freeSlug, insertProject, insertUser } from '../identity/index.ts'
import { freeReadableName, insertMailbox, isAddressUsed, type MailboxRow, toMailboxDetail } from '../mailboxes/index.ts'

export interface NewAgent {
  user_id: UserId
  project_id: ProjectId
  name: string
  mailbox: MailboxRow
}

/** An account, a project and a mailbox, all of one readable name. Its address is no way to sign in: an agent has keys. */
export async function createAgent({ config }: Pick<Services, 'config'>, tx: Transaction, plan: string): Promise<NewAgent> {
  const name = await freeName(tx, config.MAIL_DOMAIN)
  const address = `${name}@${config.MAIL_DOMAIN}`
  const user_id = await insertUser(tx, { kind: 'agent', email: address, email_key: null, slug: name, name })
  const project_id = await insertProject(tx, { name, slug: name, owner_id: user_id, plan })
  const mailbox = await insertMailbox(tx, { project_id, address, name })
  await publish(tx, project_id, 'mailbox.created', { mailbox_id: mailbox.id, mailbox: toMailboxDetail(mailbox) })
  return { user_id, project_id, name, mailbox }
}

/** One that is free for an account, a project and a mailbox alike. */
const freeName = (tx: Transaction, domain: string): Promise<string> =>
  freeReadableName(tx, async (name) => (await freeSlug(tx, name)) === name && !(await isAddressUsed(tx, `${name}@${domain}`, null)))
