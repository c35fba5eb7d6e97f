import assert from 'node:assert/strict'
import type { TestApp } from './posthaste.ts'
import type { TestProject } from './project.ts'
import { until } from './until.ts'
import { capturedFor } from './visitor.ts'

let number = 0
export const newPerson = (name = 'person') => `${name}-${++number}@example.org`

export interface TestWaitlist {
  project: TestProject
  id: string
  subdomain: string
  path: string
  join(email: string, more?: object): Promise<{ status: string; subscriber_id: string; position: number; referral_url: string }>
  /** Positions and statuses of these people, as the list of subscribers shows them. */
  standings(): Promise<Record<string, [string | null, number | null]>>
}

export async function newWaitlist(app: TestApp, settings: object = {}): Promise<TestWaitlist> {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: `Launch ${++number}`, type: 'waitlist' })
  const path = `/lists/${list.id}`
  if (Object.keys(settings).length > 0) assert.equal((await project.patch(path, settings)).status, 200)
  await project.events()
  return {
    project,
    id: list.id,
    subdomain: list.subdomain,
    path,
    async join(email, more = {}) {
      const { status, body } = await project.post(`${path}/join`, { email, ...more })
      assert.equal(status, 200, JSON.stringify(body))
      return body
    },
    async standings() {
      const { body } = await project.get(`${path}/subscribers?limit=100`)
      return Object.fromEntries(
        body.map((row: { email: string; waitlist_status: string; position: number }) => [row.email, [row.waitlist_status, row.position]]),
      )
    },
  }
}

export const codeOf = (referral_url: string): string => new URL(referral_url).searchParams.get('ref') as string

/** Presses the button behind the link of the confirmation mail. */
export async function confirmByMail(app: TestApp, email: string): Promise<string> {
  const link = await linkFor(app, email, '/confirm/')
  const response = await fetch(link, { method: 'POST' })
  const page = await response.text()
  assert.equal(response.status, 200, page)
  return page
}

/** The newest link of this kind in a mail to somebody, once there is one. */
export async function linkFor(app: TestApp, email: string, kind: string): Promise<string> {
  return until(`a mail with ${kind} to ${email}`, async () => {
    const links = (await capturedFor(app, email)).flatMap(({ text }) => (text ?? '').match(/https?:\/\/[\w.:/%?=&-]+/g) ?? [])
    return links.filter((link) => link.includes(kind)).at(-1)
  })
}
