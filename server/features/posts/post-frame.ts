import { invalid } from '../../base/errors.ts'
import { formatId } from '../../base/ids.ts'
import type { BroadcastSource } from '../../delivery/control.ts'
import {
  checkTemplates,
  type Frame,
  type PostSource,
  type Preview,
  previewOf,
  type Recipient,
  TemplateError,
} from '../../mail/compile/index.ts'
import type { Services } from '../../operations/context.ts'
import type { ListRow } from '../lists/index.ts'
import type { PostRow } from './post.ts'
import type { PostContent } from './post-queries.ts'

/** Gmail's Postmaster Tools want a last part that stays the same, of 5 to 15 letters. */
const senderId = 'posthaste'

/** A post, and the list that it goes out on. */
export interface Issue {
  list: ListRow
  post: PostRow
}

/** What the author wrote, as the compiler takes it. */
export const postSourceOf = (post: PostContent): PostSource => ({
  subject: post.subject,
  preview_text: post.preview_text,
  html: post.body_html,
  text: post.body_text,
  markdown: post.body_markdown,
})

/** What a list and this installation put around every post: sender, links, addresses. `{token}` is each recipient's own. */
export function frameOf({ config }: Pick<Services, 'config'>, { list, post }: Issue, date: Date): Frame {
  const { PUBLIC_URL, MAIL_DOMAIN } = config
  return {
    from: { name: list.sender_name ?? list.name, address: list.mailbox_address },
    reply_to: list.reply_to ?? list.mailbox_address,
    list: { name: list.name, id_host: `${list.subdomain}.${MAIL_DOMAIN}`, help_url: null, archive_url: null },
    postal_address: list.postal_address,
    track_opens: list.track_opens,
    track_clicks: list.track_clicks,
    urls: {
      unsubscribe: `${PUBLIC_URL}/u/{token}`,
      one_click: `${PUBLIC_URL}/u/{token}`,
      click: `${PUBLIC_URL}/c/{token}/{link}`,
      open: `${PUBLIC_URL}/o/{token}.gif`,
    },
    mail: { return_path: `b+{token}@${MAIL_DOMAIN}`, unsubscribe: `unsubscribe+{token}@${MAIL_DOMAIN}` },
    feedback_id: `${formatId('post', post.id)}:${formatId('lst', list.id)}:broadcast:${senderId}`,
    message_id_domain: MAIL_DOMAIN,
    date,
  }
}

/** What is sent, as it is now: later changes of post or list do not reach a broadcast that is on its way. */
export const broadcastSourceOf = (services: Pick<Services, 'config'>, issue: Issue, date: Date): BroadcastSource => ({
  post: postSourceOf(issue.post),
  frame: frameOf(services, issue, date),
})

/** 422 with the line and the column of the first merge tag that does not work. */
export const refuseBrokenTemplates = (content: PostContent): void => naming(() => checkTemplates(postSourceOf(content)))

/** The post as one reader gets it, not encoded for the wire. */
export const renderFor = (services: Pick<Services, 'config' | 'clock'>, issue: Issue, reader: Recipient): Preview =>
  naming(() => previewOf(postSourceOf(issue.post), frameOf(services, issue, services.clock.now()), reader))

/** Some mistakes show only when a template is filled in: a loop that does not end, say. */
function naming<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof TemplateError) throw invalid(error.field, error.message)
    throw error
  }
}
