import chromium from '@sparticuz/chromium'
import { type Browser, chromium as driver, type Page } from 'playwright-core'

/** A real browser that comes with npm; where it does not run (another system), the reason why. */
export async function openBrowser(): Promise<Browser | string> {
  try {
    const executablePath = await chromium.executablePath()
    return await driver.launch({ executablePath, args: [...chromium.args, '--headless=old'], headless: true })
  } catch (error) {
    return `no browser here: ${(error as Error).message.split('\n')[0]}`
  }
}

/** What the browser complained of: refused resources, blocked forms, scripts that failed. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return complaints
}
