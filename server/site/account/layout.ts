import type { FastifyReply } from 'fastify'
import { type Html, html } from '../../base/html.ts'
import { sendPage } from '../page.ts'

const places = {
  '/account': 'Account',
  '/account/mailboxes': 'Mailboxes',
  '/account/tokens': 'Keys',
  '/account/team': 'Team',
  '/account/agents': 'Agents',
  '/account/apps': 'Apps',
}

interface AccountPage {
  title: string
  current: keyof typeof places
  content: Html
  status?: number
  /** The slug of the project that the page is about: the other pages open with the same. */
  project?: string
  formTargets?: string[]
}

/** A page for who is signed in, with the way to the others on top. */
export function sendAccountPage(reply: FastifyReply, { title, current, content, status = 200, ...more }: AccountPage): FastifyReply {
  const query = more.project === undefined ? '' : `?project=${encodeURIComponent(more.project)}`
  const links = Object.entries(places).map(([path, name]) =>
    path === current ? html`<a href="${path + query}" aria-current="page">${name}</a>` : html`<a href="${path + query}">${name}</a>`,
  )
  const page = html`<nav aria-label="Account">${links}</nav><h1>${title}</h1>${content}`
  return sendPage(reply, status, `${title} · Posthaste`, page, { formTargets: more.formTargets ?? [] })
}

/** Where somebody with several projects chooses another one; nothing for one who has no choice. */
export const projectChoice = (path: string, projects: { name: string; slug: string }[], current: string): Html | null =>
  projects.length < 2
    ? null
    : html`<form method="get" action="${path}" class="row"><label for="project">Project</label>
<select id="project" name="project">${projects.map(({ name, slug }) =>
        slug === current
          ? html`<option value="${slug}" selected>${name} (${slug})</option>`
          : html`<option value="${slug}">${name} (${slug})</option>`,
      )}</select><button class="quiet">Show</button></form>`

/** Names the thing that a button is about. */
export const idField = (id: string): Html => html`<input type="hidden" name="id" value="${id}">`
