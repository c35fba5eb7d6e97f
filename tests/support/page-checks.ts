import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

/** In a file of its own and plain: it runs in the page, whose names no program of ours knows. */
const checks = readFileSync(new URL('page-checks.js', import.meta.url), 'utf8')
const inPage = <Result>(page: Page, name: string): Promise<Result> =>
  page.evaluate(`(() => { ${checks}\nreturn globalThis.pageChecks.${name}() })()`)

/** Text that cannot be read well enough against what is behind it (WCAG 2.2, 1.4.3), with its contrast; empty is good. */
export const poorContrasts = (page: Page) => inPage<string[]>(page, 'poorContrasts')

/** How far things have moved by themselves since the page began, as browsers count it: 0 is not at all. */
export const layoutShift = (page: Page) => inPage<number>(page, 'layoutShift')

/** What a person who cannot see the page would miss, and what no page may have twice; empty is good. */
export const structuralFaults = (page: Page) => inPage<string[]>(page, 'structuralFaults')

/** What an author could have changed of a site's page. `top`: what is seen where its head is. */
export const whatIsThere = (page: Page) =>
  inPage<{ scripts: string[]; frames: number; forms: string[]; footer: boolean; top: string; base: string }>(page, 'whatIsThere')

/** What has the focus. */
export const focused = (page: Page) => inPage<{ isNothing: boolean; name: string; outline: string; isInView: boolean }>(page, 'focused')
