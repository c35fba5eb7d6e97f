import { formatId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { parseAddress } from '../../mail/address.ts'
import { bodiesOf } from '../../mail/inbound/packed-mail.ts'
import { type Role, roleScopes, type Services } from '../../operations/context.ts'
import { draftByMail } from '../posts/index.ts'
import { type FiledMail, type HandlerResults, refused } from './filed-mail.ts'
import { type InboundMail, isByPerson } from './inbound-mail.ts'

/** As a post may be (`NewPost`). */
const maxBodyLetters = 1_000_000

/** What members write to the address of a list becomes a draft. It is filed all the same: the original stays with its attachments. */
export async function draftPosts(services: Pick<Services, 'config' | 'secrets'>, tx: Transaction, filed: FiledMail[]): Promise<void> {
  for (const mail of filed) {
    const result = await draftPost(services, tx, mail)
    if (result) mail.results.post = result
  }
}

/** Null for what is no post: most mail to a list is written by its readers. */
async function draftPost(
  services: Pick<Services, 'config' | 'secrets'>,
  tx: Transaction,
  { mail, mailbox: { project_id, list_id, is_list_address }, applied }: FiledMail,
): Promise<HandlerResults[string] | null> {
  const from = parseAddress(mail.parsed.from?.address ?? '')
  if (!is_list_address || !list_id || !from.ok || applied !== null || !isByPerson(mail) || isAnswer(mail)) return null
  const writer = await findWriter(tx, project_id, from.value.key)
  if (!writer || !(roleScopes[writer.role] as readonly string[]).includes('write')) return null
  if (mail.verdicts.authenticated_domain !== from.value.domain)
    return refused('It claims to be by a member, but neither DKIM nor SPF proves it. Nothing was drafted.')
  const { text_body: text, html_body: html } = bodiesOf(mail.parsed, mail.message.raw)
  const { subject, problem } = mail.parsed
  if (problem !== null || [html, text].some((body) => (body?.length ?? 0) > maxBodyLetters))
    return refused('It is too large, or could not be read whole. Nothing was drafted.')
  const post_id = await draftByMail(services, tx, {
    project_id,
    list_id,
    author: { user_id: writer.user_id, email: from.value.address },
    subject: subject?.trim() || 'No subject',
    html,
    text: html === null ? text : null,
  })
  return post_id && { status: 'drafted', post_id: formatId('post', post_id) }
}

/** A member who answers a reader does not write to all of them. */
const isAnswer = ({ parsed }: InboundMail): boolean => parsed.in_reply_to !== null || parsed.references.length > 0

const findWriter = (db: Queryable, project_id: ProjectId, email_key: string) => db.first<{ user_id: UserId; role: Role }>`
  select u.id as user_id, m.role from members m join users u on u.id = m.user_id
  where m.project_id = ${project_id} and u.email_key = ${email_key} and u.disabled_at is null`
