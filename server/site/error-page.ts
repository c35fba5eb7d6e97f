import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import { sendPage } from './page.ts'
import { isAtSite } from './public/hosts.ts'
import { refusalWords } from './refusal-words.ts'

/** What programs ask for, whatever they say that they accept. */
const forPrograms = /^\/(v1|api|agent|mcp|\.well-known|healthz|readyz|auth\.md)(\/|\?|$)/

/** A failure that a person can read, where a browser asked for a page; null where a program asked. */
export function showError(failure: ApiError, request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
  if (!request.headers.accept?.includes('text/html') || forPrograms.test(request.url)) return null
  const { title, content } = failure.status >= 500 ? ourFault(failure, request) : refusal(failure, request)
  return sendPage(reply.headers(failure.headers), failure.status, title, html`<h1>${title}</h1>${content}`)
}

interface Shown {
  title: string
  content: Html
}

/** Nothing of what went wrong inside: only the number by which the log finds it. */
const ourFault = ({ code }: ApiError, { id, method }: FastifyRequest): Shown => ({
  title: code === 'service_unavailable' ? 'Just a moment' : 'Something went wrong on our side',
  content: html`<p>This cannot be shown just now. Try again in a few seconds${method === 'GET' ? ': reload the page.' : ': go back, and send it once more.'}</p>
<p class="soft">If it stays like this, tell whoever runs this site: ${id}</p>`,
})

function refusal(failure: ApiError, request: FastifyRequest): Shown {
  const { is404 } = request
  const way = isAtSite(request) ? html`<a href="/">To the first page</a>` : html`<a href="/account">To your account</a>`
  const elsewhere = failure.code === 'rate_limited' ? null : html`<p>${way}</p>`
  if (is404)
    return { title: 'There is nothing here', content: html`<p>No page has this address. It may be mistyped, or cut off.</p>${elsewhere}` }
  const title = failure.code === 'not_found' ? 'There is nothing here' : 'That did not work'
  return { title, content: html`<p>${refusalWords(failure)}</p>${elsewhere}` }
}
