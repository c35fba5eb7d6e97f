import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { complaintsOf, openBrowser } from './support/browser.ts'
import { hostilePosts } from './support/hostile-posts.ts'
import { focused, layoutShift, poorContrasts, structuralFaults, whatIsThere } from './support/page-checks.ts'
import { startApp } from './support/posthaste.ts'
import { readerPages } from './support/reader-pages.ts'
import { newSite, publish } from './support/sites.ts'

/** The public site in a real browser: what hostile authors cannot do, and what readers can. */
const browser = await openBrowser()
const skip = typeof browser === 'string' ? browser : false
test.after(() => (typeof browser === 'string' ? undefined : browser.close()))
const app = await startApp()

const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="450"><rect width="800" height="450" fill="#888"/></svg>'

/** One page for all: this browser is one process, which does not outlive a window that is closed. */
const page = typeof browser === 'string' ? null : await browser.newPage()
const complaints = page ? complaintsOf(page) : []
/** What was asked for elsewhere, and as what. Whoever is asked there answers with a picture. */
const elsewhere: string[] = []
await page?.route(
  (url) => url.origin !== app.url,
  (route) => {
    elsewhere.push(`${route.request().resourceType()} ${route.request().url()}`)
    return route.fulfill({ contentType: 'image/svg+xml', body: picture })
  },
)

async function open(look: { width?: number; colorScheme?: 'light' | 'dark' } = {}): Promise<Page> {
  if (!page) throw new Error(String(browser))
  complaints.length = 0
  elsewhere.length = 0
  await page.setViewportSize({ width: look.width ?? 1280, height: 800 })
  await page.emulateMedia({ colorScheme: look.colorScheme ?? 'light' })
  return page
}

test('whatever an author writes, nothing runs, nothing but pictures is loaded, and the page stays whole', {
  skip,
  timeout: 300_000,
}, async () => {
  const { project, list, at } = await newSite(app)
  const page = await open()
  const groups = Map.groupBy(hostilePosts.entries(), ([index]) => Math.floor(index / 10))
  for (const [number, group] of groups) {
    const html = [...group].map(([index, one]) => `<p>before ${index}</p>${one.replaceAll('\u0000', '')}<p>after ${index}</p>`).join('\n')
    const post = await publish(project, list, { subject: `Vectors ${number}`, body_html: html })
    await page.goto(`${app.url}${at}/p/${post.slug}`)
    assert.equal(await page.title(), `Vectors ${number}: News`)
    assert.deepEqual(await whatIsThere(page), {
      scripts: ['application/ld+json'],
      frames: 0,
      forms: [`${at}/p/${post.slug}/like`, `${at}/subscribe`],
      footer: true,
      top: 'top',
      base: page.url(),
    })
    for (const link of await page.locator('.words a').all()) await link.dispatchEvent('click', { ctrlKey: true })
    assert.equal(await page.title(), `Vectors ${number}: News`)
  }
  assert.deepEqual(complaints, [])
  assert.deepEqual(
    elsewhere.filter((one) => !one.startsWith('image https://')),
    [],
  )
})

const accents = [null, '#ffff00', '#000000', '#ffffff', '#777777', '#ff0000', '#00ff88', '#2b1055']

test('everything can be read, in light and in dark, whatever colour the list has', { skip, timeout: 300_000 }, async () => {
  for (const accent_color of accents) {
    const { project, list, at } = await newSite(app, { name: 'Kitchen Letters', description: 'About bread' })
    await project.patch(`/lists/${list.id}`, {
      accent_color,
      show_subscriber_count: true,
      footer: 'By Ann',
      postal_address: '1 High Street',
    })
    const { slug } = await publish(project, list, {
      subject: 'Bread',
      preview_text: 'Slowly',
      body_markdown: '# A\n\nText with `code` and [a link](https://example.org).\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |',
    })
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await open({ colorScheme, width: 390 })
      for (const path of ['/', '/archive', '/archive?q=nothing', `/p/${slug}`, '/subscribe']) {
        await page.goto(`${app.url}${at}${path}`)
        assert.deepEqual(await poorContrasts(page), [], `${path} ${colorScheme} ${accent_color}`)
        assert.deepEqual(await structuralFaults(page), [], path)
      }
      assert.deepEqual(complaints, [])
    }
  }
})

test('nothing moves while a page loads, and a text post with its styles is small', { skip, timeout: 120_000 }, async () => {
  const { project, list, at } = await newSite(app)
  const words = 'Some words that make up a letter of the usual length. '.repeat(40)
  const text = await publish(project, list, { subject: 'Text', body_markdown: Array.from({ length: 12 }, () => words).join('\n\n') })
  const images = Array.from(
    { length: 4 },
    (_, index) => `<p>${words}</p><img src="https://img.example/${index}.png"${index % 2 ? ' width="800" height="450"' : ''}>`,
  )
  const pictures = await publish(project, list, {
    subject: 'Pictures',
    body_html: `<img src="https://img.example/first.png">${images.join('')}`,
  })
  for (const width of [390, 1280]) {
    const page = await open({ width })
    for (const { slug } of [text, pictures]) {
      await page.goto(`${app.url}${at}/p/${slug}`, { waitUntil: 'load' })
      for (const image of await page.locator('.words img').all()) await image.scrollIntoViewIfNeeded()
      await page.waitForFunction('[...document.images].every(({ complete }) => complete)')
      assert.equal(await layoutShift(page), 0, slug)
      assert.deepEqual(await structuralFaults(page), [])
    }
    assert.deepEqual(complaints, [])
  }
  const response = await fetch(`${app.url}${at}/p/${text.slug}`, { headers: { 'accept-encoding': 'identity' } })
  assert.ok((await response.arrayBuffer()).byteLength < 60_000)
})

test('the pages behind links in mail, of waitlists and of other sites: whole, readable, still and small, on a phone and on a desktop', {
  skip,
  timeout: 300_000,
}, async () => {
  const pages = await readerPages(app)
  for (const width of [390, 1280])
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await open({ width, colorScheme })
      for (const [name, url] of Object.entries(pages)) {
        const answer = await page.goto(url, { waitUntil: 'load' })
        const what = `${name}, ${width} px, ${colorScheme}`
        assert.equal(answer?.status(), 200, what)
        assert.deepEqual([await poorContrasts(page), await structuralFaults(page), await layoutShift(page)], [[], [], 0], what)
        assert.ok(((await answer?.body()) ?? []).length < 60_000, what)
      }
      assert.deepEqual(complaints, [])
      assert.deepEqual(elsewhere, [])
    }
})

test('names and titles of any length fit into the narrowest window (WCAG 2.2, 1.4.10)', { skip, timeout: 60_000 }, async () => {
  const long = 'Donaudampfschifffahrtsgesellschaftskapitänswitwenrente'
  const { project, list, at } = await newSite(app, { name: `${long} ${long}`, description: long.repeat(3) })
  await project.patch(`/lists/${list.id}`, { footer: long.repeat(2), show_subscriber_count: true })
  const { slug } = await publish(project, list, { subject: long, preview_text: long, body_markdown: `# ${long}\n\n${long}\n\n- ${long}` })
  const page = await open({ width: 320 })
  for (const path of ['/', '/archive', '/archive?q=nothing', `/p/${slug}`, '/subscribe', '/embed']) {
    await page.goto(`${app.url}${at}${path}`)
    assert.deepEqual(await structuralFaults(page), [], path)
  }
})

test('what is not there says so, in the look of the site', { skip, timeout: 60_000 }, async () => {
  const { at } = await newSite(app)
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await open({ width: 390, colorScheme })
    for (const path of [`${at}/nothing`, '/s/nobody/', '/u/nothing', '/preferences/nothing', '/confirm/nothing', '/w/nothing']) {
      const answer = await page.goto(`${app.url}${path}`)
      assert.equal(answer?.status(), 404, path)
      assert.deepEqual([await poorContrasts(page), await structuralFaults(page), await layoutShift(page)], [[], [], 0], path)
    }
    assert.deepEqual(
      complaints.filter((one) => !/status of 404/.test(one)),
      [],
    )
  }
})

test('by keyboard alone: past the head to the text, and every step can be seen', { skip, timeout: 60_000 }, async () => {
  const { project, list, at } = await newSite(app)
  const { slug } = await publish(project, list, { subject: 'Keys', body_markdown: '[a](https://example.org)' })
  const page = await open()
  await page.goto(`${app.url}${at}/p/${slug}`)
  await page.keyboard.press('Tab')
  assert.equal((await focused(page)).name, 'Skip to the text')
  const steps = new Set<string>()
  for (let step = 0; step < 12; step++) {
    const { isNothing, name, outline, isInView } = await focused(page)
    if (isNothing) break
    assert.deepEqual([outline, isInView], ['solid', true], name)
    steps.add(name)
    await page.keyboard.press('Tab')
  }
  for (const name of ['News', 'Archive', 'a', 'post-email', 'Subscribe', 'RSS feed']) assert.ok(steps.has(name), `${name} of ${[...steps]}`)
})
