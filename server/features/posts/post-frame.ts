import { isDeepStrictEqual } from 'node:util'
import { ApiError, invalid } from '../../base/errors.ts'
import { formatId, type ProjectId } from '../../base/ids.ts'
import type { BroadcastSource } from '../../delivery/control.ts'
import {
  type CompiledParts,
  CompilerBusy,
  type Frame,
  type PostSource,
  type Preview,
  type Recipient,
  TemplateError,
} from '../../mail/compile/index.ts'
import { formatUnsubscribeAddress, formatVerp } from '../../mail/verp.ts'
import type { Services } from '../../operations/context.ts'
import { canonicalUrl, type ListRow, senderOf } from '../lists/index.ts'
import { describePost } from './describe-post.ts'
import type { PostRow } from './post.ts'
import type { PostContent, SiteText } from './post-queries.ts'
import { findFirstReader, someReader } from './reader.ts'

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

/**
 * Whether mail to MAIL_DOMAIN reaches `applyBackchannelMail`. A process that does not take in mail cannot tell whether another one does,
 * and a way out that leads nowhere is worse than none: the https one is there in any case.
 */
const receivesMail = ({ ROLES }: Pick<Services['config'], 'ROLES'>): boolean => ROLES.includes('inbound')

/** What a list and this installation put around every post: sender, links, addresses. `{token}` is each recipient's own. */
export function frameOf({ config }: Pick<Services, 'config'>, { list, post }: Issue, date: Date): Frame {
  const { PUBLIC_URL, MAIL_DOMAIN } = config
  const { from, reply_to, return_host } = senderOf(list)
  return {
    from,
    reply_to: reply_to ?? list.mailbox_address,
    list: {
      name: list.name,
      id_host: `${list.subdomain}.${MAIL_DOMAIN}`,
      help_url: null,
      archive_url: list.show_posts ? `${canonicalUrl(config, { subdomain: list.subdomain, domain: list.site_domain })}/archive` : null,
    },
    postal_address: list.postal_address,
    track_opens: list.track_opens,
    track_clicks: list.track_clicks,
    urls: {
      unsubscribe: `${PUBLIC_URL}/u/{token}`,
      one_click: `${PUBLIC_URL}/u/{token}`,
      preferences: `${PUBLIC_URL}/preferences/{token}`,
      click: `${PUBLIC_URL}/c/{token}/{link}`,
      open: `${PUBLIC_URL}/o/{token}.gif`,
    },
    mail: {
      return_path: formatVerp('{token}', return_host ?? MAIL_DOMAIN),
      unsubscribe: receivesMail(config) ? formatUnsubscribeAddress('{token}', MAIL_DOMAIN) : null,
    },
    feedback_id: `${formatId('post', post.id)}:${formatId('lst', list.id)}:broadcast:${senderId}`,
    message_id_domain: return_host === undefined ? MAIL_DOMAIN : domainOf(from.address),
    date,
  }
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

/** What is sent, as it is now: later changes of post or list do not reach a broadcast that is on its way. */
export const broadcastSourceOf = (services: Pick<Services, 'config'>, issue: Issue, date: Date): BroadcastSource => ({
  post: postSourceOf(issue.post),
  frame: frameOf(services, issue, date),
})

type WithCompiler = Pick<Services, 'compiler'>

/** 422 with the line and the column of the first merge tag that does not work. */
export const refuseBrokenTemplates = ({ compiler }: WithCompiler, project_id: ProjectId, content: PostContent): Promise<void> =>
  naming(compiler.check(project_id, postSourceOf(content)))

/** The post as readers get it, not encoded for the wire. */
export const renderFor = (
  services: WithCompiler & Pick<Services, 'config' | 'clock'>,
  issue: Issue,
  readers: Recipient[],
): Promise<Preview[]> => naming(services.compiler.preview(issue.post.project_id, issueOf(services, issue), readers))

/** A post put together, and what it was made from. */
export interface CompiledIssue {
  from: { source: PostSource; frame: Frame }
  parts: CompiledParts
  site: SiteText | null
}

/** Filled in for its first reader as well: what cannot be sent is told before anything is booked. */
export async function compileIssue(
  services: WithCompiler & Pick<Services, 'config' | 'clock' | 'database'>,
  issue: Issue,
): Promise<CompiledIssue> {
  const { project_id, list_id } = issue.post
  const reader = (await findFirstReader(services.database, { project_id, list_id })) ?? someReader
  const from = issueOf(services, issue)
  const parts = await naming(services.compiler.compile(project_id, from, reader))
  return { from, parts, site: await siteTextOf(services, issue) }
}

export const siteTextOf = (services: WithCompiler, { list, post }: Issue): Promise<SiteText | null> =>
  naming(describePost(services, { project_id: post.project_id, list, source: postSourceOf(post) }))

/** Compiling takes its time, and takes it before the transaction: what was changed meanwhile has to be compiled anew. */
export function refuseChanged({ from }: CompiledIssue, { post, frame }: BroadcastSource): void {
  if (isDeepStrictEqual(from, { source: post, frame: { ...frame, date: from.frame.date } })) return
  throw new ApiError('conflict', 'The post or its list was changed in this very moment. Look at it once more, and send it again.')
}

const issueOf = (services: Pick<Services, 'config' | 'clock'>, issue: Issue) => ({
  source: postSourceOf(issue.post),
  frame: frameOf(services, issue, services.clock.now()),
})

/** Some mistakes show only when a post is put together: a loop that does not end, say. */
async function naming<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (error instanceof TemplateError) throw invalid(error.field, error.message)
    if (error instanceof CompilerBusy)
      throw new ApiError('service_unavailable', 'Too many posts are being put together just now. Try again in a few seconds.', {
        headers: { 'retry-after': '5' },
      })
    throw error
  }
}
