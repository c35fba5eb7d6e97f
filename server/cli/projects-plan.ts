import { setPlan } from '../features/usage/index.ts'
import { findProject, leaveCommandAuditRow } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { UsageError } from './usage.ts'

/** What only an operator can do: a plan without a subscription. One that ends later does not take it away. */
export async function setProjectPlan({ slug, plan }: { slug: string; plan: string }): Promise<void> {
  await withDatabase(async ({ database, config }) => {
    const given = Object.hasOwn(config.PLANS, plan) ? config.PLANS[plan] : undefined
    if (!given)
      throw new UsageError(`There is no plan "${plan}". There are: ${Object.keys(config.PLANS).join(', ')}. PLANS says what they are.`)
    const project = await findProject(database, slug)
    await database.transaction(async (tx) => {
      await setPlan(tx, project.id, plan)
      await leaveCommandAuditRow(tx, project.id, { operation: 'projects.set_plan', target: { plan } })
    })
    const emails = given.emails === null ? 'as many e-mails as it likes' : `${given.emails} e-mails a month`
    console.log(`Project "${project.slug}" is on the plan "${plan}" now: ${emails}.`)
  })
}
