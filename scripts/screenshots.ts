import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { startBench } from '../bench/support.ts'
import { openBrowser } from '../tests/support/browser.ts'
import { reader } from '../tests/support/sites.ts'
import { type DemoPage, makeDemo } from './demo-content.ts'
import { pictures } from './demo-pictures.ts'

/**
 * `npm run screenshots`: every public page as readers see it, on a phone and on a desktop, in light and in dark, into the folder
 * `screenshots`. The program runs as anybody starts it, and what it shows is made through its API, but for the days of posts. `npm run screenshots -- FOLDER NAME…`
 * takes only the pages of these names.
 */
const [folder = 'screenshots', ...wanted] = process.argv.slice(2)
const devices = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true },
  desktop: { viewport: { width: 1280, height: 900 }, deviceScaleFactor: 1, isMobile: false },
}

/** Nobody types faster: forms that are sent sooner are a program's. */
const typingMs = 2_100

const bench = await startBench()
try {
  const connection = await bench.database('demo')
  const program = await bench.program(connection)
  const pages = Object.entries(await makeDemo(program, connection)).filter(([name]) => wanted.length === 0 || wanted.includes(name))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const device of Object.keys(devices) as (keyof typeof devices)[]) await takeAll(device, pages)
  console.log(`${pages.length * 4} pictures are in ${folder}/`)
} finally {
  await bench.stop()
}

/** A browser for each device: this one is a single process, which does not outlive a window that is closed. */
async function takeAll(device: keyof typeof devices, pages: [string, DemoPage][]): Promise<void> {
  const browser = await openBrowser()
  if (typeof browser === 'string') throw new Error(browser)
  const page = await browser.newPage({ ...devices[device], userAgent: reader })
  await page.route(
    ({ href }) => href in pictures,
    (route) => route.fulfill({ contentType: 'image/svg+xml', body: pictures[route.request().url()] as string }),
  )
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const [name, one] of pages) {
      await open(page, one)
      await page.screenshot({ path: join(folder, `${name}-${device}-${colorScheme}.png`), fullPage: true, timeout: 120_000 })
    }
  }
  await browser.close()
}

async function open(page: Page, one: DemoPage): Promise<void> {
  const url = typeof one === 'string' ? one : one.url
  // A picture is shown as pages show it.
  if (url.endsWith('.svg')) await page.setContent(`<img src="${url}">`, { waitUntil: 'load' })
  else await page.goto(url, { waitUntil: 'load' })
  if (typeof one === 'string') return
  for (const [label, value] of Object.entries(one.fill ?? {})) await page.getByLabel(label).fill(value)
  if (one.fill) await sleep(typingMs)
  const main = page.locator('main')
  await main
    .getByRole('button', { name: one.press })
    .or(main.getByRole('link', { name: one.press }))
    .first()
    .click()
  await page.waitForLoadState('load')
}
