import { newId } from '../../server/base/ids.ts'
import { fileMessages, type InboundMail } from '../../server/features/filing/index.ts'
import { packMail } from '../../server/mail/inbound/packed-mail.ts'
import { parseMail } from '../../server/mail/inbound/parse-mail.ts'
import type { Verdicts } from '../../server/mail/inbound/parsed-mail.ts'
import { isWorthALook, readBackchannel } from '../../server/mail/reports/read-backchannel.ts'
import type { TestApp } from './posthaste.ts'
import type { TestProject } from './project.ts'
import { greetedSmtp } from './smtp-client.ts'

/** A mail as somebody outside writes it. */
export interface Letter {
  from?: string
  to?: string
  subject?: string
  message_id?: string
  /** Further lines of the head. */
  headers?: string[]
  text?: string
  html?: string
}

export function letterOf({
  from = 'Ann <ann@example.com>',
  to = 'you',
  subject = 'Hello',
  message_id,
  headers = [],
  text = 'Hi',
  html,
}: Letter): string {
  return [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    `Message-ID: <${message_id ?? `${newId()}@example.com`}>`,
    'Date: Mon, 02 Nov 2026 10:00:00 +0000',
    'MIME-Version: 1.0',
    ...headers,
    ...(headers.some((line) => /^content-type:/i.test(line))
      ? []
      : [`Content-Type: text/${html === undefined ? 'plain' : 'html'}; charset=utf-8`]),
    '',
    html ?? text,
    '',
  ].join('\r\n')
}

/** Sends it over SMTP, and waits for nothing but the 250. */
export async function receive(app: TestApp, to: string, letter: Letter = {}): Promise<void> {
  const client = await greetedSmtp({ port: app.smtpPort })
  const answer = await client.send(to, letterOf({ to, ...letter }).trimEnd())
  client.close()
  if (!answer.startsWith('250')) throw new Error(answer)
}

/** How the sender proved who they are: as said, or not at all. */
export const verdictsOf = (authenticated_domain: string | null = null, dmarc = authenticated_domain ? 'pass' : 'none'): Verdicts => ({
  spf: { result: authenticated_domain ? 'pass' : 'none', domain: authenticated_domain },
  dkim: [],
  dmarc: { result: dmarc, policy: null, domain: authenticated_domain },
  arc: { result: 'none' },
  authenticated_domain,
})

interface Accepted extends Letter {
  recipients: string[]
  envelope_from?: string
  raw?: string
  verdicts?: Verdicts
}

/** Accepted, and not filed yet: no loop finds it, because it is due in a year. */
export async function accept(
  { services }: TestApp,
  { recipients, envelope_from = 'ann@example.com', raw, verdicts, ...letter }: Accepted,
): Promise<InboundMail> {
  const bytes = Buffer.from(raw ?? letterOf({ to: recipients[0] as string, ...letter }))
  const message = { id: newId() as string, received_at: services.clock.now(), envelope_from, recipients, raw: bytes }
  await services.database.run`
    insert into inbound_spool (id, received_at, peer, envelope_from, recipients, raw, next_attempt_at)
    values (${message.id}, ${message.received_at}, '{}', ${envelope_from}, ${recipients}, ${bytes}, now() + interval '1 year')`
  const parsed = await parseMail(bytes)
  const backchannel = isWorthALook(parsed, message) ? await readBackchannel(bytes) : null
  return { message, parsed: packMail(parsed), verdicts: verdicts ?? verdictsOf(), backchannel }
}

/** Accepts and files it, with verdicts that are the test's. */
export async function fileMail(app: TestApp, accepted: Accepted): Promise<InboundMail> {
  const mail = await accept(app, accepted)
  await fileMessages(app.services, [mail])
  return mail
}

export interface EmailSeen {
  id: string
  mailbox_id: string
  direction: string
  status: string
  from_address: string
  to_address: string
  subject: string
  message_id: string
  thread_id: string
  contact_id: string | null
  handler_results: Record<string, { status: string; reason?: string }> | null
  is_automatic: boolean
  position: number
  raw_key: string
  extracted_data: { code?: string } | null
}

/** All e-mails of a project, in the order in which they were made. */
export const emailsIn = ({ services }: TestApp, project: Pick<TestProject, 'id'>) =>
  services.database.many<EmailSeen>`select * from emails where project_id = ${project.id} order by id`

/** How many messages wait to be filed. */
export const waitingMail = async ({ services }: TestApp) =>
  (await services.database.first<{ count: number }>`select count(*) as count from inbound_spool where next_attempt_at is not null`)?.count

export async function newMailbox(app: TestApp, project?: TestProject) {
  const owner = project ?? (await app.newProject())
  const { body } = await owner.post('/mailboxes', {})
  await owner.events()
  return { project: owner, address: body.address as string, id: body.id as string }
}
