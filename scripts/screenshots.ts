import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startBench } from '../bench/support.ts'
import { openBrowser } from '../tests/support/browser.ts'
import { makeDemo } from './demo-content.ts'

/**
 * `npm run screenshots`: every public page as readers see it, on a phone and on a desktop, in light and in dark, into the folder
 * `screenshots`. The program runs as anybody starts it, and what it shows is made through its API.
 */
const folder = process.argv[2] ?? 'screenshots'
const devices = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true },
  desktop: { viewport: { width: 1280, height: 900 }, deviceScaleFactor: 1, isMobile: false },
}

const bench = await startBench()
try {
  const connection = await bench.database('demo')
  const program = await bench.program(connection)
  const pages = await makeDemo(program, connection)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const device of Object.keys(devices) as (keyof typeof devices)[]) await takeAll(device, pages)
  console.log(`${Object.keys(pages).length * 4} pictures are in ${folder}/`)
} finally {
  await bench.stop()
}

/** A browser for each device: this one is a single process, which does not outlive a window that is closed. */
async function takeAll(device: keyof typeof devices, pages: Record<string, string>): Promise<void> {
  const browser = await openBrowser()
  if (typeof browser === 'string') throw new Error(browser)
  const page = await browser.newPage(devices[device])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const [name, url] of Object.entries(pages)) {
      // A picture is shown as pages show it.
      if (url.endsWith('.svg')) await page.setContent(`<img src="${url}">`, { waitUntil: 'load' })
      else await page.goto(url, { waitUntil: 'load' })
      await page.screenshot({ path: join(folder, `${name}-${device}-${colorScheme}.png`), fullPage: true, timeout: 120_000 })
    }
  }
  await browser.close()
}
