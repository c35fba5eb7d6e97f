import assert from 'node:assert/strict'
import PostalMime from 'postal-mime'
import type { TestApp } from './posthaste.ts'
import { until } from './until.ts'

/** A person with a browser that runs no script: keeps cookies, presses buttons, follows redirects when told to. */
export interface Visitor {
  cookies: Map<string, string>
  get(path: string): Promise<Visit>
  /** Sends a form, from this site's own page unless headers say otherwise. */
  post(path: string, fields?: Record<string, string> | [string, string][], headers?: Record<string, string>): Promise<Visit>
}

export interface Visit {
  status: number
  headers: Headers
  /** Where it leads, without this site's own address; null when it leads nowhere. */
  location: string | null
  html: string
}

export function newVisitor(url: string): Visitor {
  const cookies = new Map<string, string>()
  const visit = async (method: string, path: string, body?: URLSearchParams, headers: Record<string, string> = {}): Promise<Visit> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(new URL(path, url), {
      method,
      redirect: 'manual',
      headers: { accept: 'text/html', ...(cookie ? { cookie } : {}), ...headers },
      ...(body ? { body } : {}),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as RegExpExecArray
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) cookies.delete(name as string)
      else cookies.set(name as string, value as string)
    }
    const location = response.headers.get('location')?.replace(url, '') ?? null
    return { status: response.status, headers: response.headers, location, html: await response.text() }
  }
  return {
    cookies,
    get: (path) => visit('GET', path),
    post: (path, fields = {}, headers = {}) => visit('POST', path, new URLSearchParams(fields), { origin: url, ...headers }),
  }
}

/** The mails that were captured for an address, oldest first. */
export async function capturedFor({ services }: TestApp, address: string) {
  const rows = await services.database.many<{
    message: Buffer
  }>`select message from captured_messages where envelope_to = ${address} order by id`
  return Promise.all(rows.map(({ message }) => PostalMime.parse(message)))
}

/** The newest six-digit code that came to an address, once more than `seen` mails have. */
export async function codeFor(app: TestApp, address: string, seen = 0): Promise<string> {
  const mails = await until(`a code for ${address}`, async () => {
    const captured = await capturedFor(app, address)
    return captured.length > seen ? captured : null
  })
  return /\b(\d{6})\b/.exec(mails.at(-1)?.text ?? '')?.[1] ?? assert.fail(`no code in: ${mails.at(-1)?.text}`)
}

/** Signs in the way people do: address, code from the mail. */
export async function signIn(app: TestApp, address: string): Promise<Visitor> {
  const visitor = newVisitor(app.url)
  const seen = (await capturedFor(app, address)).length
  const asked = await visitor.post('/sign-in', { email: address })
  assert.equal(asked.status, 303, asked.html)
  const done = await visitor.post(asked.location as string, { code: await codeFor(app, address, seen) })
  assert.equal(done.status, 303, done.html)
  return visitor
}
