import type { TestApp } from './posthaste.ts'
import type { TestProject } from './project.ts'
import { ledgerOf, type TestRecipient } from './recipients.ts'
import { until } from './until.ts'

const agent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const visit = (app: TestApp, path: string) => fetch(app.url + path, { redirect: 'manual', headers: { 'user-agent': agent } })

const totalOf = async (app: TestApp, project: TestProject, recipient: TestRecipient): Promise<number> => {
  const row = await ledgerOf(app, project, recipient)
  return (row?.open_count ?? 0) + (row?.click_count ?? 0)
}

/** A person opens the mail, or follows a link of it; resolves when the ledger has it. */
export async function readBy(app: TestApp, project: TestProject, recipient: TestRecipient, ...deeds: ('open' | number)[]): Promise<void> {
  for (const deed of deeds) {
    const before = await totalOf(app, project, recipient)
    await visit(app, deed === 'open' ? `/o/${recipient.tokens.open}.gif` : `/c/${recipient.tokens.click}/${deed}`)
    await until('the deed to be counted', async () => (await totalOf(app, project, recipient)) > before)
  }
}

/** By the one click of RFC 8058. */
export const leaveBy = (app: TestApp, { tokens }: TestRecipient) =>
  fetch(`${app.url}/u/${tokens.unsubscribe}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  })
