import assert from 'node:assert/strict'
import type { TestApp } from './posthaste.ts'
import type { TestProject } from './project.ts'

/** A list, and where its site is. */
export async function newSite(app: TestApp, body: object = {}) {
  const project = await app.newProject()
  const answer = await project.post('/lists', { name: 'News', ...body })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  await project.events()
  return { project, list: answer.body, at: `/s/${answer.body.subdomain}` }
}

/** A post that is on the site. */
export async function publish(project: TestProject, list: { id: string }, content: object = {}) {
  const written = {
    subject: 'Hello',
    ...('body_markdown' in content || 'body_text' in content ? {} : { body_html: '<p>Hi</p>' }),
    ...content,
  }
  const draft = await project.post(`/lists/${list.id}/posts`, written)
  assert.equal(draft.status, 201, JSON.stringify(draft.body))
  const { status, body } = await project.post(`/lists/${list.id}/posts/${draft.body.id}/publish`)
  assert.equal(status, 200, JSON.stringify(body))
  await project.events()
  return body
}

export const reader = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

/** What somebody with a browser sees. */
export async function visit(app: Pick<TestApp, 'url'>, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(new URL(path, app.url), {
    method,
    redirect: 'manual',
    headers: { 'user-agent': reader, accept: 'text/html', ...headers },
  })
  return { status: response.status, headers: response.headers, body: await response.text() }
}
