import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { complaintsOf, openBrowser } from './support/browser.ts'
import { startApp } from './support/posthaste.ts'
import { codeFor } from './support/visitor.ts'

/**
 * The pages as a person uses them, in a real browser with scripts switched off: cookies, content security policy and redirects after
 * forms are the browser's to judge.
 */
const app = await startApp()
const browser = await openBrowser()
test.after(async () => {
  if (typeof browser !== 'string') await browser.close()
})

/** Where an app on this machine waits for its code. */
const waiting = createServer((_request, response) => response.end('Thank you'))
await new Promise<void>((resolve) => waiting.listen(0, '127.0.0.1', resolve))
test.after(() => waiting.close())
const callback = `http://127.0.0.1:${(waiting.address() as AddressInfo).port}/callback`

test('sign in, make a key, let an app in and sign out, without a script', async (t) => {
  if (typeof browser === 'string') return t.skip(browser)
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 390, height: 800 } })
  const page = await context.newPage()
  const complaints = complaintsOf(page)

  await page.goto(`${app.url}/account`)
  assert.equal(new URL(page.url()).pathname, '/sign-in')
  await page.getByLabel('Your e-mail address').fill('ann@example.org')
  await page.getByRole('button', { name: 'Send me a code' }).click()
  await page.getByLabel('The code').fill(await codeFor(app, 'ann@example.org'))
  await page.getByRole('button', { name: 'Sign in' }).click()
  assert.equal(new URL(page.url()).pathname, '/account')
  const [session] = (await context.cookies()).filter(({ name }) => name.endsWith('session'))
  assert.deepEqual(
    [session?.name, session?.httpOnly, session?.secure, session?.sameSite, session?.path],
    ['__Host-session', true, true, 'Lax', '/'],
  )

  await page.getByRole('link', { name: 'Keys' }).first().click()
  await page.getByLabel('What it is for').fill('laptop')
  await page.getByRole('button', { name: 'Make the key' }).click()
  const key = /sk_[A-Za-z0-9]{38}/.exec(await page.content())?.[0]
  const lists = await fetch(`${app.url}/v1/lists`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(lists.status, 200)

  const registered = await fetch(`${app.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Reader', redirect_uris: [callback] }),
  })
  const { client_id } = (await registered.json()) as { client_id: string }
  const asked = { client_id, redirect_uri: callback, response_type: 'code', scope: 'read', state: 'mine' }
  // The challenge of RFC 7636, appendix B.
  const pkce = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
  await page.goto(`${app.url}/oauth/authorize?${new URLSearchParams({ ...asked, ...pkce })}`)
  assert.match(await page.title(), /Reader/)
  await page.getByRole('button', { name: 'Let it in' }).click()
  const landed = new URL(page.url())
  assert.equal(landed.origin + landed.pathname, callback)
  assert.deepEqual([landed.searchParams.get('state'), landed.searchParams.get('iss')], ['mine', app.url])
  assert.ok(landed.searchParams.get('code'))

  await page.goto(`${app.url}/account/apps`)
  await page.getByRole('link', { name: 'Account' }).click()
  for (const path of ['/account', '/account/mailboxes', '/account/tokens', '/account/team', '/account/agents', '/account/apps']) {
    await page.goto(app.url + path)
    const [shown, whole] = await page.evaluate<[number, number]>(
      '[document.documentElement.clientWidth, document.documentElement.scrollWidth]',
    )
    assert.ok(whole <= shown, `${path} is ${whole} px wide on a phone of ${shown}`)
  }
  await page.goto(`${app.url}/account`)
  await page.getByRole('button', { name: 'Sign out', exact: true }).last().click()
  assert.equal(new URL(page.url()).pathname, '/sign-in')
  await page.goto(`${app.url}/account`)
  assert.equal(new URL(page.url()).pathname, '/sign-in')
  assert.deepEqual(
    complaints.filter((text) => !text.includes('favicon')),
    [],
  )
})

test('a form on another site cannot act for who is signed in', async (t) => {
  if (typeof browser === 'string') return t.skip(browser)
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${app.url}/sign-in`)
  await page.getByLabel('Your e-mail address').fill('victim@example.org')
  await page.getByRole('button', { name: 'Send me a code' }).click()
  await page.getByLabel('The code').fill(await codeFor(app, 'victim@example.org'))
  await page.getByRole('button', { name: 'Sign in' }).click()

  await page.goto(callback)
  await page.setContent(`<form method="post" action="${app.url}/account/sessions/sign-out-everywhere"><button>You have won</button></form>`)
  const answer = page.waitForResponse((response) => response.request().method() === 'POST')
  await page.getByRole('button').click()
  assert.equal((await answer).status(), 403)
  await page.goto(`${app.url}/account`)
  assert.equal(new URL(page.url()).pathname, '/account')
})
