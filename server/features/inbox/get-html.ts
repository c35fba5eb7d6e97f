import { z } from 'zod'
import { Html, html } from '../../base/html.ts'
import { formatId } from '../../base/ids.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation, fileOf } from '../../operations/define-operation.ts'
import { untrusted } from './downloads.ts'
import { InboxEmailParams, type InboxRow } from './inbox-email.ts'
import { reachEmail } from './reach-email.ts'
import { readInThread } from './read-raw.ts'

export const getEmailHtml = defineOperation({
  id: 'inbox.html',
  method: 'GET',
  path: '/mailboxes/{mailboxId}/emails/{emailId}/html',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'An e-mail as a page that is safe to show',
  description:
    'Without scripts, forms, frames and style sheets, under a policy that forbids them. Pictures that the mail carries lead to its attachments. Pictures elsewhere tell their sender who reads when, so they are left out unless `images=show`. A mail without HTML is shown as text.',
  params: InboxEmailParams,
  query: z.object({ images: z.enum(['block', 'show']).default('block') }),
  result: fileOf('text/html'),
  status: 200,
  errors: ['not_found'],

  async run(context, { params, query: { images } }) {
    const email = await reachEmail(context, params)
    const { API_URL } = context.config
    const elsewhere = images === 'show' ? ' http: https:' : ''
    return {
      content_type: 'text/html; charset=utf-8',
      headers: {
        ...untrusted,
        'content-security-policy': `default-src 'none'; img-src data: ${new URL(API_URL).origin}${elsewhere}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox allow-popups allow-popups-to-escape-sandbox`,
        'referrer-policy': 'no-referrer',
      },
      body: Buffer.from(pageOf(email, await contentOf(context, email, images))),
    }
  },
})

async function contentOf({ reader, caller, config }: Context, email: InboxRow, images: 'block' | 'show'): Promise<Html> {
  if (email.html_body === null) return textOf(email)
  const mail = { html: email.html_body, links: linksOf(email, config.API_URL), remoteImages: images }
  const shown = await readInThread<string | null>(reader.html(caller.project_id, mail), () => null)
  return shown === null ? textOf(email) : new Html(shown)
}

const textOf = ({ text_body }: InboxRow): Html => html`<pre style="white-space: pre-wrap; font: inherit">${text_body ?? ''}</pre>`

function pageOf(email: InboxRow, content: Html): string {
  return html`<!doctype html>
<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">
<title>${email.subject ?? ''}</title></head>
<body style="font-family: sans-serif; overflow-wrap: break-word">${content}</body></html>
`.text
}

/** Of the parts that the mail carries, by content id: the first of that name. */
function linksOf({ attachments, mailbox_id, id }: InboxRow, api: string): Map<string, string> {
  const base = `${api}/mailboxes/${formatId('mbx', mailbox_id)}/emails/${formatId('eml', id)}/attachments`
  const links = attachments.flatMap(({ content_id, number }) => (content_id === null ? [] : [[content_id, `${base}/${number}`] as const]))
  return new Map(links.reverse())
}
