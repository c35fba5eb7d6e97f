import type { ListId, PostId, ProjectId, UserId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { findOwners, sendNotice } from '../identity/index.ts'
import { findList, holdList } from '../lists/index.ts'
import { postEventData } from './post.ts'
import { approvalLink } from './post-approval.ts'
import { insertPost } from './post-queries.ts'

/** What a member has written to the address of a list. */
export interface MailedPost {
  project_id: ProjectId
  list_id: ListId
  author: { user_id: UserId; email: string }
  subject: string
  html: string | null
  text: string | null
}

/**
 * A draft that waits for an owner, whoever wrote it: an address is easier to misuse than a key. Owners get a mail that leads to a page
 * with the two buttons. Null when the list is gone.
 */
export async function draftByMail(
  services: Pick<Services, 'config' | 'secrets'>,
  tx: Transaction,
  mailed: MailedPost,
): Promise<PostId | null> {
  const { project_id, list_id, author, subject, html, text } = mailed
  const list = (await holdList(tx, { project_id, list_id })) ? await findList(tx, { project_id, list_id }) : null
  if (!list) return null
  const content = { subject, preview_text: null, body_html: html, body_text: text, body_markdown: null }
  const post = await insertPost(tx, { project_id, list_id, ...content, source: 'email', needs_approval: true, created_by: author.user_id })
  await publish(tx, project_id, 'post.created', postEventData(post))
  for (const owner of await findOwners(tx, project_id)) {
    const link = approvalLink(services, { project_id, list_id, post_id: post.id, user_id: owner.user_id }, tx.now)
    await sendNotice(services, tx, {
      kind: 'post_approval',
      to: owner.email,
      subject: 'A post came by mail and waits for you',
      parts: [
        `${author.email} has written “${subject}” for the list “${list.name}”. It is a draft; nobody gets it unless you say so.`,
        { link, label: 'Read it, and approve it' },
        { link: `${link}?answer=reject`, label: 'Reject it' },
        'Both links lead to a page with a button, and are good for two weeks.',
      ],
    })
  }
  return post.id
}
