import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { complaintsOf, openBrowser } from './support/browser.ts'
import { startApp } from './support/posthaste.ts'
import { until } from './support/until.ts'
import { capturedFor } from './support/visitor.ts'
import { linkFor } from './support/waitlists.ts'

/**
 * What a reader does, from the first visit to leaving and coming back: in a real browser, on a phone, with the keyboard alone and with scripts
 * switched off.
 */
const app = await startApp()
const browser = await openBrowser()
test.after(async () => {
  if (typeof browser !== 'string') await browser.close()
})

/** Goes on with Tab until something with this name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let press = 0; press < 40; press++) {
    await page.keyboard.press('Tab')
    const words = await page.evaluate<string>(
      `[document.activeElement.textContent, ...[...(document.activeElement.labels ?? [])].map(label => label.textContent)].join(' ').trim()`,
    )
    if (name.test(words)) return
  }
  assert.fail(`the keyboard does not get to ${name}`)
}

async function pressButton(page: Page, name: RegExp): Promise<void> {
  await tabTo(page, name)
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
}

async function fitsOnPhone(page: Page): Promise<void> {
  const [shown, whole] = await page.evaluate<[number, number]>(
    '[document.documentElement.clientWidth, document.documentElement.scrollWidth]',
  )
  assert.ok(whole <= shown, `${page.url()} is ${whole} px wide on a phone of ${shown}`)
}

const heading = (page: Page) => page.locator('h1').textContent()

test('subscribe, confirm, like, choose, leave, say why, and come back', async (t) => {
  if (typeof browser === 'string') return t.skip(browser)
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'The Daily Otter' })
  const { body: second } = await project.post('/lists', { name: 'The Weekly Otter' })
  await project.post(`/lists/${second.id}/subscribers`, { email: 'ann@example.org', verified: true })
  await project.events()
  // As the browser names itself here, it is taken for a program.
  const userAgent = 'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36'
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 390, height: 800 }, userAgent })
  const page = await context.newPage()
  const complaints = complaintsOf(page)

  await page.goto(`${app.url}/s/${list.subdomain}`)
  // Nobody types that fast, and neither does this: the form asks to be sent once more.
  app.clock.advance(3_000)
  await tabTo(page, /e-mail address/)
  await page.keyboard.type('ann@example.org')
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
  assert.equal(await heading(page), 'Look into your mailbox')
  await fitsOnPhone(page)
  assert.deepEqual(await project.events(), ['subscriber.created'])

  await page.goto(await linkFor(app, 'ann@example.org', '/confirm/'))
  assert.equal(await heading(page), 'Confirm your subscription')
  await fitsOnPhone(page)
  await pressButton(page, /Yes, subscribe me/)
  assert.equal(await heading(page), 'You are subscribed')
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])

  const { body: post } = await project.post(`/lists/${list.id}/posts`, { subject: 'Hello otters', body_markdown: 'Hi *there*.' })
  await project.post(`/lists/${list.id}/posts/${post.id}/send`)
  await until('the post to be sent', async () => (await project.get(`/lists/${list.id}/posts/${post.id}`)).body.status === 'sent')
  await project.events()
  await page.goto(`${app.url}/s/${list.subdomain}/p/hello-otters`)
  await pressButton(page, /I like it/)
  assert.match((await page.locator('main').textContent()) ?? '', /1 reader likes this post/)
  await fitsOnPhone(page)
  await until('the like to be told', async () => (await project.events()).includes('post.liked'))

  const mail = await until('the post', async () =>
    (await capturedFor(app, 'ann@example.org')).find(({ subject }) => subject === 'Hello otters'),
  )
  const leave = /<(http[^>]+)>/.exec(mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '')?.[1] as string
  await page.goto(leave)
  await pressButton(page, /choose what you get/)
  assert.equal(await heading(page), 'What you get')
  await fitsOnPhone(page)
  await tabTo(page, /The Weekly Otter/)
  await page.keyboard.press('Space')
  await pressButton(page, /^Save/)
  assert.match((await page.locator('[role=status]').textContent()) ?? '', /Saved/)
  assert.deepEqual(
    (await project.events()).filter((type) => type.startsWith('subscriber')),
    ['subscriber.unsubscribed'],
  )

  await page.goto(leave)
  await pressButton(page, /Unsubscribe me/)
  assert.equal(await heading(page), 'You are unsubscribed')
  await fitsOnPhone(page)
  await tabTo(page, /comes too often/)
  await page.keyboard.press('Space')
  await pressButton(page, /^Send/)
  assert.match((await page.locator('[role=status]').textContent()) ?? '', /Thank you/)
  await pressButton(page, /Subscribe me again/)
  assert.equal(await heading(page), 'Welcome back')
  assert.deepEqual(
    (await project.events()).filter((type) => type.startsWith('subscriber')),
    ['subscriber.unsubscribed', 'subscriber.confirmed'],
  )
  assert.deepEqual(await context.cookies(), [], 'nobody is followed')
  assert.deepEqual(complaints, [])
})

test('a form on another site subscribes, and a script there reads the answer', async (t) => {
  if (typeof browser === 'string') return t.skip(browser)
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Embedded' })
  await project.events()
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${app.url}/s/${list.subdomain}/embed`)
  const form = await page.getByLabel('HTML').inputValue()
  await page.route('http://blog.test/**', (route) =>
    route.fulfill({ contentType: 'text/html', body: `<!doctype html><h1>My blog</h1>${form}` }),
  )
  await page.goto('http://blog.test/')
  await page.getByLabel('Your e-mail address').fill('bob@example.org')
  await Promise.all([page.waitForNavigation(), page.getByRole('button').click()])
  assert.equal(await heading(page), 'Look into your mailbox')
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])

  await page.goto('http://blog.test/')
  const ask = (email: string) =>
    page.evaluate<[number, object]>(
      `fetch('${app.url}/s/${list.subdomain}/subscribe.json', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ email: ${JSON.stringify(email)} }) }).then(async (answer) => [answer.status, await answer.json()])`,
    )
  assert.deepEqual(await ask('eve@example.org'), [200, { status: 'check_your_inbox' }])
  assert.equal((await ask('no address'))[0], 422)
  assert.deepEqual(await project.events(), ['contact.created', 'subscriber.created'])
})
